/* What lies in a folder, for a digest of an installation: hundreds of files, for each of which Python would make an
   object with twenty numbers. Does what _installed.look does. Needs python.h in front. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#ifdef __APPLE__
#define CHANGED(s, of) ((s).st_##of##timespec)
#else
#define CHANGED(s, of) ((s).st_##of##tim)
#endif

static long long nanoseconds(struct timespec t) { return (long long)t.tv_sec * 1000000000 + t.tv_nsec; }

static int ends_as_source(const char *name)
{
    const char *end = strrchr(name, '.');
    return end && (!strcmp(end, ".py") || !strcmp(end, ".pyc") || !strcmp(end, ".c") || !strcmp(end, ".h"));
}
static int is_link(DIR *folder, const struct dirent *item, struct stat *own)
{
    if (item->d_type != DT_LNK && item->d_type != DT_UNKNOWN) return 0;
    return !fstatat(dirfd(folder), item->d_name, own, AT_SYMLINK_NOFOLLOW) && S_ISLNK(own->st_mode);
}
static int is_folder(DIR *folder, const struct dirent *item)
{
    struct stat s;
    if (item->d_type == DT_DIR) return 1;
    if (item->d_type != DT_LNK && item->d_type != DT_UNKNOWN) return 0;
    return !fstatat(dirfd(folder), item->d_name, &s, 0) && S_ISDIR(s.st_mode);
}
static char *put_number(char *to, long long value)
{
    for (int i = 0; i < 8; i++) *to++ = (char)((unsigned long long)value >> 8 * i);
    return to;
}
/* Append to the list, which takes the object over; -1 for an error. */
static int append(Obj *list, Obj *item)
{
    int failed = !item || PyList_Append(list, item);
    drop(item);
    return failed ? -1 : 0;
}
static int append_file(Obj *files, DIR *folder, const struct dirent *item, const char *inside)
{
    struct stat s, own;
    if (fstatat(dirfd(folder), item->d_name, &s, 0)) return errno == ENOENT ? 0 : -1; /* a link to nothing */
    long long changed = nanoseconds(CHANGED(s, c));
    if (is_link(folder, item, &own) && nanoseconds(CHANGED(own, c)) > changed) changed = nanoseconds(CHANGED(own, c));
    char line[4096];
    size_t before = strlen(inside), name = strlen(item->d_name);
    if (before + name + 17 > sizeof line) return errno = ENAMETOOLONG, -1;
    memcpy(line, inside, before);
    memcpy(line + before, item->d_name, name);
    line[before + name] = 0;
    char *end = put_number(put_number(line + before + name + 1, s.st_size), nanoseconds(CHANGED(s, m)));
    return append(files, Py_BuildValue("(NL)", PyBytes_FromStringAndSize(line, end - line), changed));
}
/* files(folder, inside): ([(line, time of change)], [names of folders in it]) */
static Obj *listed_files(Obj *module, Obj *args)
{
    const char *path, *inside;
    if (!PyArg_ParseTuple(args, "ss", &path, &inside)) return NULL;
    DIR *folder = opendir(path);
    if (!folder) return PyErr_SetFromErrno(PyExc_OSError);
    Obj *files = PyList_New(0), *folders = PyList_New(0);
    int failed = !files || !folders;
    for (struct dirent *item; !failed && (item = readdir(folder));) {
        if (ends_as_source(item->d_name)) failed = append_file(files, folder, item, inside);
        else if (item->d_name[0] != '.' && strcmp(item->d_name, "__pycache__") && is_folder(folder, item))
            failed = append(folders, PyUnicode_DecodeFSDefault(item->d_name));
    }
    if (failed && !PyErr_Occurred()) PyErr_SetFromErrno(PyExc_OSError);
    closedir(folder);
    if (!failed) return Py_BuildValue("(NN)", files, folders);
    drop(files);
    drop(folders);
    return NULL;
}
