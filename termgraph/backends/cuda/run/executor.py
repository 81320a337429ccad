"""Running a CUDA program:
one arena for everything temporary, one plan per shape, one recorded graph per set of arrays.
"""

from __future__ import annotations

import ctypes
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from termgraph._records import NamedTuple
from termgraph.backends.c.run.bind import failure
from termgraph.backends.cuda.build.compile import compile_text, warn_of_spills
from termgraph.backends.cuda.driver.base import DeviceLost
from termgraph.backends.cuda.generate import CudaProgram
from termgraph.backends.cuda.run.context import Device
from termgraph.backends.cuda.run.device_array import DeviceArray, Spare, as_device_array
from termgraph.backends.cuda.run.launches import plan_launch, plan_phases, plan_products
from termgraph.backends.cuda.run.step_loops import LARGEST, PlannedSteps
from termgraph.backends.cuda.run.updates import Pending, Unfinished
from termgraph.backends.cuda.text import axis_kernels, routine_kernels
from termgraph.backends.cuda.text.functions import (
    BLOCK,
    AxisCall,
    ByLibrary,
    KernelText,
    Launch,
    Product,
    RoutineCall,
    Steps,
)
from termgraph.backends.cuda.text.gemm import ACTS, NUMBERS
from termgraph.lower.lengths.checks import NotLowerable
from termgraph.lower.lengths.index import evaluate
from termgraph.lower.push.kernel import Buf
from termgraph.terms.dtypes import working_dtype

WIDE = 2**30  # more elements than this are counted with 64 bits
PLANS, GRAPHS = 64, 8  # kept per program, and per plan
STATUS = 40
SHARED = -1  # the number of the room that calls share


class Places(NamedTuple):
    """The addresses of a call: of its arguments, and of its results."""

    arrays: tuple[int, ...]
    outputs: dict[Buf, int]


class Part:
    """Launches that are queued together, and their recordings by the addresses of all arrays."""

    def __init__(self, launches: list[Any]) -> None:
        self.launches = launches
        self.graphs: OrderedDict[tuple, Any] = OrderedDict()


class Plan:
    """A program for given shapes: launches, lengths of the outputs, and where everything lies in the arena."""

    def __init__(
        self, program: CudaProgram, shapes: Sequence[tuple[int, ...]], processors: int, strides: Sequence[tuple | None]
    ) -> None:
        env = program.environment(shapes, strides)
        self.env = env
        self.failed = program.failed_check(env)
        self.shapes: list[tuple[int, ...]] = []
        self.places: dict[Any, int] = {}  # offsets in the arena
        self.size = 0
        # Of the first part the rest is what follows the last kernel that can fail; the last part writes new values of
        # shared variables.
        self.first = self.rest = self.last = Part([])
        if self.failed:
            return
        self.shapes = [tuple(evaluate(n, env) for n in b.shape) for b in program.outputs]
        for room in program.rooms:
            place = self.take(evaluate(program.bytes_of(room), env))
            self.places.update({b: place + program.offsets.get(b, 0) for b in room})
        for k, size in enumerate(program.partials):
            self.places["partials", k] = self.take(size)
        self.places["scalars"] = self.take(program.scalars)
        self.places["status"] = self.take(STATUS)
        self.parts, self.scratches, self.room = 1, 0, 0
        last = [step for step in program.steps if getattr(step, "final", False)]
        launches = self.plan([step for step in program.steps if step not in last], processors)
        sure = _sure(launches) if program.can_fail else 0
        self.first, self.rest = Part(launches[: len(launches) - sure]), Part(launches[len(launches) - sure :])
        self.last = Part(self.plan(last, processors))
        self.places["scratch", SHARED] = self.take(self.room)
        bufs = {*program.inputs.values(), *program.outputs, *(b for r in program.rooms for b in r)}
        largest = max([int(np.prod([evaluate(n, env) for n in b.shape], dtype=np.int64)) for b in bufs], default=0)
        spans = [sum(abs(s) * n for s, n in zip(steps, shape)) for steps, shape in zip(strides, shapes) if steps]
        counts = [evaluate(n, env) for k in program.kernels for n in (k.count, *k.inner) if not n.fv]
        largest = max([largest, *spans, *counts])
        self.wide = largest > WIDE

    def take(self, size: int) -> int:
        """Room in the arena."""
        place = self.size
        self.size += -(-size // 256) * 256
        return place

    def plan(self, steps: Sequence[Any], processors: int) -> list[Any]:
        """The launches of some steps; a loop over steps has a plan of its own."""
        out: list[Any] = []
        for step in steps:
            if isinstance(step, Product):
                out += plan_products(step, self.env)
            elif isinstance(step, (AxisCall, RoutineCall)):
                out += self.plan_call(step, processors)
            elif isinstance(step, Steps):
                out.append(PlannedSteps(step.repeat, self.plan(step.body, processors), self.env))
            else:
                out += self.plan_kernel(step, processors)
        return out

    def plan_call(self, step: AxisCall | RoutineCall, processors: int) -> list[Launch]:
        """The launches of what has kernels of its own. What they keep lies in one room: one runs after the other."""
        of: Any = axis_kernels if isinstance(step, AxisCall) else routine_kernels
        launches, size = of.plan(step, self.env, processors)
        self.room = max(self.room, size)
        return [_sharing(x) for x in launches] if size else launches

    def plan_kernel(self, step: KernelText, processors: int) -> list[Launch]:
        phases = plan_phases(step, self.env)
        if phases:
            self.room = max(self.room, phases[0].scratch)
            return [_sharing(x) for x in phases]
        launch = plan_launch(step, self.env, processors, self.parts)
        if launch is None:
            return []
        self.parts = launch.grid[0] if step.kind == "parts" else self.parts
        if launch.scratch:
            self.scratches += 1
            launch = launch._replace(scratch=self.scratches, numbers={**launch.numbers, "scratch": launch.scratch})
            self.places["scratch", self.scratches] = self.take(launch.numbers["scratch"])
        return [launch]


class Executable:
    """A program on a device. `executable(values)` takes arrays on host or device and gives arrays on the device."""

    def __init__(self, program: CudaProgram, device: Device, name: str = "f") -> None:
        self.program, self.device, self.name = program, device, name
        self.plans: OrderedDict[tuple, Plan] = OrderedDict()
        self.modules: dict[bool, Any] = {}
        self.kernels: dict[tuple[bool, str], Any] = {}
        self.constants: dict[Buf, DeviceArray] = {}
        self.arena: DeviceArray | None = None
        self.spare = Spare(device)
        self.replays = 0
        self.views: tuple[int, ...] = ()  # the arguments that it reads by strides
        self.variants: dict[tuple[int, ...], Callable[..., list[Any]]] = {}
        self.tolerant = False  # whether failures are only noted, in `failed`
        self.failed: Exception | None = None
        self.unrecorded = False  # whether the driver has refused to record it

    # ------------------------------------------------------------------ calling
    def __call__(self, *values: Any) -> list[Any]:
        """Queue the program; failures that the device finds are raised before this returns.

        New values of shared variables that it writes last are given as `Pending`.
        """
        device = self.device
        elsewhere = [v for v in values if v.__class__ is not DeviceArray or v.device is not device]
        if elsewhere:
            values = tuple([self.here(v) for v in values])
        with device.lock:
            arrays: Sequence[DeviceArray] = values
            if elsewhere:
                arrays = [as_device_array(v, device, self.spare, ("argument", i)) for i, v in enumerate(values)]
            strides = tuple([a.strides for a in arrays])
            views = tuple([i for i, s in enumerate(strides) if s is not None and i in self.program.inputs])
            if views and not self.views:
                return self.variant(views)(*arrays)
            plan = self.plan_for(tuple([a.shape for a in arrays]), strides)
            self.failed = None
            if plan.failed:
                raise self.failure(*plan.failed, 0, 0)
            outputs = self.outputs(plan)
            places = Places(tuple([a.address for a in arrays]), {b: a.address for b, a in outputs.items()})
            if plan.first.launches:
                self.run(plan, plan.first, places)
                if self.program.can_fail:
                    self.run_checked(plan, places)
            foreign = [a.stream for a in arrays if a.keeps is not None and a.is_foreign]
            if foreign:
                device.release(foreign)
            if not self.program.in_place:
                return [outputs[b] for b in self.program.outputs]
            replaced = {i for i, _ in self.program.in_place.values()}
            kept = [a for i, a in enumerate(arrays) if i not in replaced or a is not values[i]]
            call = Unfinished(self, plan, places, kept)
            return [
                Pending(call, k, plan.shapes[k], np.dtype(b.dtype)) if k in self.program.in_place else outputs[b]
                for k, b in enumerate(self.program.outputs)
            ]

    def here(self, value: object) -> Any:
        """What another device has, copied to this one, before any of its work is held up."""
        elsewhere = isinstance(value, DeviceArray) and value.device is not self.device
        return as_device_array(value, self.device) if elsewhere else value

    def variant(self, views: tuple[int, ...]) -> Callable[..., list[Any]]:
        """The same for arguments that are not C-contiguous: its kernels read them where they are, if they can."""
        if views not in self.variants:
            program = self._with_strides(views)
            if program is None:
                self.variants[views] = lambda *arrays: self(*[a.contiguous() for a in arrays])
            else:
                program.leaves, program.renamed = self.program.leaves, self.program.renamed
                made = self.variants[views] = Executable(program, self.device, self.name)
                made.views, made.tolerant = views, self.tolerant
        return self.variants[views]

    def _with_strides(self, views: tuple[int, ...]) -> CudaProgram | None:
        """The program whose kernels read views, and pack what products and sortings want packed; None for loops."""
        if any(isinstance(step, Steps) for step in self.program.steps) or self.program.again is None:
            return None
        try:
            return self.program.again(strided=views)  # type: ignore[call-arg]
        except NotLowerable:
            return None

    def plan_for(self, shapes: tuple, strides: tuple = ()) -> Plan:
        """The plan for these shapes, and strides where there are any; made once."""
        key = (shapes, strides if strides.count(None) < len(strides) else ())
        plan = self.plans.get(key)
        if plan is None:
            plan = self.plans[key] = Plan(self.program, shapes, self.device.driver.multiprocessors, strides)
            if len(self.plans) > PLANS:
                self.plans.popitem(last=False)
        self.plans.move_to_end(key)
        return plan

    def outputs(self, plan: Plan) -> dict[Buf, DeviceArray]:
        """Room for the results; equal results are one array."""
        made: dict[Buf, DeviceArray] = {}
        for k, (b, shape) in enumerate(zip(self.program.outputs, plan.shapes)):
            if b not in made and k not in self.program.in_place:
                made[b] = self.spare.take(b, shape, b.dtype, f"a result of {self.name}")
        return made

    def addresses(self, plan: Plan, places: Places) -> dict[Any, int]:
        """Where everything is."""
        if self.arena is None or self.arena.nbytes < plan.size:
            self.forget_graphs()
            self.arena = None
            self.arena = DeviceArray.empty(self.device, (plan.size,), "uint8", f"intermediate results of {self.name}")
        at = {key: self.arena.address + offset for key, offset in plan.places.items()}
        at.update({b: places.arrays[k] for k, b in self.program.inputs.items()})
        at.update(places.outputs)
        for b, value in self.program.constants.items():
            if b not in self.constants:
                self.constants[b] = DeviceArray.of(value, f"a constant of {self.name}", self.device)
            at[b] = self.constants[b].address
        return at

    # ------------------------------------------------------------------ running
    def run(self, plan: Plan, part: Part, places: Places) -> None:
        """Queue launches; the second time with the same arrays they are recorded, from then on replayed."""
        key = (*places.arrays, *places.outputs.values())
        graph = part.graphs.get(key)
        if graph is not None:
            self.device.driver.replay(graph)
            self.replays += 1
            return
        seen = key in part.graphs
        at = self.addresses(plan, places)  # if that takes a new arena, nothing recorded is left
        self.prepare(plan)
        recorded = self.record(plan, part, at) if seen else None
        if recorded is None:
            self.queue(plan, part, at)
        part.graphs[key] = recorded
        part.graphs.move_to_end(key)
        while len(part.graphs) > GRAPHS:
            part.graphs.popitem(last=False)

    def record(self, plan: Plan, part: Part, at: Mapping[Any, int]) -> Any:
        """The launches as a graph, which is then run; None where the driver has no graphs, or refuses this one."""
        if self.unrecorded:
            return None
        try:
            graph = self.device.record(lambda: self.queue(plan, part, at))
        except DeviceLost:
            raise
        except Exception as error:  # of the driver, or of a library that it does not like to see recorded
            self.unrecorded = True
            warnings.warn(
                f"{self.name} cannot be recorded as a CUDA graph, so its kernels are queued one by one, which takes "
                f"more time: {error}",
                stacklevel=2,
            )
            return None
        if graph is not None:
            self.device.driver.replay(graph)
        return graph

    def finish(self, plan: Plan, places: Places, targets: Mapping[int, int]) -> None:
        """Queue the last part of a call; `targets` are the addresses of the new values, by their numbers."""
        outputs = self.program.outputs
        with self.device.lock:
            for k, (i, mode) in self.program.in_place.items():
                old = places.arrays[i]
                if mode == "accumulate" and targets[k] != old:  # what is added to has to be there
                    size = int(np.prod(plan.shapes[k], dtype=np.int64)) * np.dtype(outputs[k].dtype).itemsize
                    if size:
                        self.device.driver.copy(targets[k], old, size)
            if plan.last.launches:
                ends = {outputs[k]: address for k, address in sorted(targets.items())}
                self.run(plan, plan.last, Places(places.arrays, {**places.outputs, **ends}))

    def queue(self, plan: Plan, part: Part, at: Mapping[Any, int]) -> None:
        """All launches, one by one."""
        if self.program.can_fail and part is plan.first:
            self.device.driver.clear(at["status"], STATUS)
        self.queue_steps(plan, part.launches, at)

    def queue_steps(self, plan: Plan, launches: Sequence[Any], at: Mapping[Any, int]) -> None:
        """Some launches; loops over steps, one step after the other."""
        for launch in launches:
            if isinstance(launch, PlannedSteps):
                launch.run(self, plan, at)
            elif isinstance(launch, ByLibrary):
                dnn = self.device.dnn()
                if dnn is None or not dnn.convolve(launch.call, at, self.program.precision, self.program.multiply_add):
                    self.queue_steps(plan, launch.own, at)
            else:
                self.launch(plan, launch, at)

    def launch(self, plan: Plan, launch: Launch, at: Mapping[Any, int]) -> None:
        """One kernel."""
        if launch.product is not None:
            blas = self.device.blas() if launch.product["guard"] is None else None
            if blas is not None and blas.matmul(launch.product, at, self.program.precision):
                return
            if blas is not None and blas.gemm(launch.product, at, self.program.precision):
                if launch.product["bias"] or launch.product["act"]:
                    self.finish_product(plan, launch.product, at)
                return
            arguments = product_arguments(launch, at, plan.wide)
        else:
            arguments = self.arguments(launch, at, plan)
        kernel = self.kernel(plan.wide, launch.kernel)
        self.device.driver.launch(kernel, launch.grid, launch.block, arguments)

    def finish_product(self, plan: Plan, p: Mapping[str, Any], at: Mapping[Any, int]) -> None:
        """Bias and activation of a product that is there already."""
        (m, n, _), name = p["sizes"], f"tg_finish_{NUMBERS[p['dtype']].letter}"
        integer = ctypes.c_int64 if plan.wide else ctypes.c_int32
        grid = min(-(-m * n // BLOCK), self.device.driver.multiprocessors * 16)
        product = ctypes.c_void_p(at[p["c"][0]] + p["c"][1] * np.dtype(p["dtype"]).itemsize)
        arguments = [integer(m * n), integer(n), product, *epilogue_arguments(p, at)]
        self.device.driver.launch(self.kernel(plan.wide, name), (grid, 1, 1), (BLOCK, 1, 1), arguments)

    def prepare(self, plan: Plan) -> None:
        """Compile and load the kernels, if they are not loaded yet."""
        if plan.wide not in self.modules:
            options = ("-DTG_WIDE",) * plan.wide + ("--fmad=false",) * self.program.apart
            driver = self.device.driver
            image = self.device.compile(self.program.source, driver.arch, options, self.name)
            if self.program.given and self.device.compile is compile_text:
                warn_of_spills(self.program.source, driver.arch, options, self.name, self.program.given)
            self.modules[plan.wide] = driver.load(image)

    def kernel(self, wide: bool, name: str) -> Any:
        """A loaded kernel."""
        if (wide, name) not in self.kernels:
            self.kernels[wide, name] = self.device.driver.kernel(self.modules[wide], name)
        return self.kernels[wide, name]

    def arguments(self, launch: Launch, at: Mapping[Any, int], plan: Plan) -> list[Any]:
        """The values of a kernel's parameters, in order."""
        integer = ctypes.c_int64 if plan.wide else ctypes.c_int32
        scratch = at.get(("scratch", launch.scratch), 0)
        out: list[Any] = []
        for kind, what in launch.params:
            if kind == "buf":
                out.append(ctypes.c_void_p(at[what]))
            elif kind == "sym":
                out.append(integer(plan.env[what.name]))
            elif kind == "int":
                out.append(integer(what))
            elif kind == "at":
                out.append(ctypes.c_void_p(at[what[0]] + what[1]))
            elif kind == "room":
                out.append(ctypes.c_void_p(scratch + what))
            elif kind == "flag":
                out.append(ctypes.c_void_p(0 if what is None else at["scalars"] + what))
            elif kind == "null":
                out.append(ctypes.c_void_p(None))
            elif kind == "step":
                out.append(ctypes.c_int64(at["step"]))
            elif kind in ("scalars", "status"):
                out.append(ctypes.c_void_p(at[kind]))
            elif kind == "partials":
                out.append(ctypes.c_void_p(at["partials", what]))
            elif kind == "row":
                out.append(ctypes.c_void_p(scratch))
                teams = launch.grid[0] * launch.block[0] // launch.numbers.get("team", 1)
                item = working_dtype(what.buf.dtype).itemsize
                scratch += -(-teams * evaluate(what.length, plan.env) * item // 256) * 256
            elif kind == "vector":
                out.append(ctypes.c_int32(launch.numbers["vector"] and not any(at[b] % 16 for b in what)))
            else:
                out.append(ctypes.c_int32(launch.numbers[kind]))
        return out

    # ------------------------------------------------------------------ failures
    def run_checked(self, plan: Plan, places: Places) -> None:
        """Queue what follows the last kernel that can fail; raise what the device, which goes on meanwhile, reports."""
        assert self.arena is not None
        device = self.device
        found = device.status(self.arena.address + plan.places["status"], STATUS)
        mark = device.driver.mark()
        if plan.rest.launches:
            self.run(plan, plan.rest, places)
        device.driver.reach(mark)
        code, *where, step = found.view(np.int64).tolist()
        if code:
            self.failed = self.failure(code, *where, step % LARGEST, step // LARGEST)
            if not self.tolerant:
                device.driver.synchronize()  # whoever lent an array may change it when the error comes
                raise self.failed

    def failure(self, code: int, site: int, *numbers: int) -> Exception:
        """The exception for a failure, with the term that it is about."""
        error: Any = failure(self.program, code, site, *numbers)  # type: ignore[arg-type]
        error.plain = str(error)  # for whoever can name the term better
        return error

    def forget_graphs(self) -> None:
        """Recorded graphs hold addresses of the arena."""
        for plan in self.plans.values():
            plan.first.graphs.clear()
            plan.rest.graphs.clear()
            plan.last.graphs.clear()

    def free(self) -> None:
        """Give all memory back that is kept for the next call."""
        self.forget_graphs()
        self.arena = None
        self.spare.free()


def _sure(launches: Sequence[Any]) -> int:
    """How many launches follow the last one that can report a failure."""
    for k, launch in enumerate(reversed(launches)):
        if _can_fail(launch):
            return k
    return 0


def _can_fail(launch: Any) -> bool:
    """Whether a launch, or one inside a loop, can report a failure."""
    if isinstance(launch, PlannedSteps):
        return any(map(_can_fail, launch.launches))
    return any(kind == "status" for kind, _ in getattr(launch, "params", ()))


def _sharing(launch: Any) -> Any:
    """A launch that keeps what it has to in the room that calls share."""
    if isinstance(launch, ByLibrary):
        return launch._replace(own=[_sharing(x) for x in launch.own])
    return launch._replace(scratch=SHARED)


def product_arguments(launch: Launch, at: Mapping[Any, int], wide: bool) -> list[Any]:
    """The parameters of the kernels in `gemm`."""
    p = launch.product
    assert p is not None
    integer = ctypes.c_int64 if wide else ctypes.c_int32
    number = ctypes.c_double if NUMBERS[p["dtype"]].scale == "double" else ctypes.c_float
    item = np.dtype(p["dtype"]).itemsize
    (a, a_at, a_steps, a_jump), (b, b_at, b_steps, b_jump), (c, c_at, c_jump) = p["a"], p["b"], p["c"]
    address = lambda buf, offset: ctypes.c_void_p(at[buf] + offset * item)  # noqa: E731
    alpha = p["alpha"]
    kept = isinstance(alpha, tuple)  # computed by an earlier kernel
    alpha_at = at["scalars"] + alpha[1] if kept else 0
    one = 1.0 if kept else alpha
    out: list[Any] = [integer(n) for n in p["sizes"]]
    out += [address(a, a_at), *map(ctypes.c_int64, a_steps), ctypes.c_int64(a_jump)]
    out += [address(b, b_at), *map(ctypes.c_int64, b_steps), ctypes.c_int64(b_jump)]
    out += [address(c, c_at), ctypes.c_int64(c_jump), number(one), ctypes.c_void_p(alpha_at), number(p["beta"])]
    out.append(ctypes.c_void_p(0 if p["guard"] is None else at["scalars"] + p["guard"]))
    return [*out, *epilogue_arguments(p, at)] if p["name"] == "gemm" else [*out, ctypes.c_int32(p["team"])]


def epilogue_arguments(p: Mapping[str, Any], at: Mapping[Any, int]) -> list[Any]:
    """Where the bias is, and which activation."""
    bias = 0 if p["bias"] is None else at[p["bias"][0]] + p["bias"][1] * np.dtype(p["dtype"]).itemsize
    return [ctypes.c_void_p(bias), ctypes.c_int32(ACTS[p["act"]])]
