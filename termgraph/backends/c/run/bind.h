/* Every generated library holds one pointer to the run-time services; its first source file defines it. */
#ifdef TG_MAIN
TG_HIDDEN const tg_runtime *tg_rt;
TG_EXPORT void tg_bind(const tg_runtime *rt);
TG_EXPORT void tg_bind(const tg_runtime *rt) { tg_rt = rt; }
#else
extern TG_HIDDEN const tg_runtime *tg_rt;
#endif
