"""Instructions as text to machine code, by LLVM, if llvmlite is installed.

Arithmetic is as it is written: nothing is reordered, and no product and sum become one. The C library's functions are
those that this process has, which quickjs calls as well.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Final
from weakref import WeakSet

from roost.process.native.functions import SYMBOLS
from roost.process.native.nodes import Refused

_OPTIMISED: Final = 2
_NAMES: Final = {"pow": "roost.libm.pow"}  # `roost.pow` is what JavaScript makes of it


class Machine:
    """Machine code, as long as this lives."""

    def __init__(self, text: str) -> None:
        binding = _llvm()
        target = binding.Target.from_default_triple().create_target_machine(
            cpu=binding.get_host_cpu_name(), features=binding.get_host_cpu_features().flatten(), opt=_OPTIMISED
        )
        module = binding.parse_assembly(text)
        module.verify()
        passes = binding.create_pass_builder(target, binding.create_pipeline_tuning_options(_OPTIMISED))
        passes.getModulePassManager().run(module, passes)
        self._engine: Final = binding.create_mcjit_compiler(module, target)
        self._engine.finalize_object()
        self.run: Final[Callable[[], int]] = ctypes.PYFUNCTYPE(ctypes.c_int)(self._engine.get_function_address("run"))
        _ALIVE.add(self)


_ALIVE: Final[WeakSet[Machine]] = WeakSet()


def alive() -> int:
    """How many there are in this process."""
    return len(_ALIVE)


def is_there() -> bool:
    """Whether there is a compiler here."""
    try:
        _llvm()
    except Refused:
        return False
    return True


def _llvm() -> Any:  # noqa: ANN401  it has no types
    """LLVM, ready for this machine; `Refused` if it is not there."""
    try:
        from llvmlite import binding

        library = ctypes.CDLL(None)
        for name in SYMBOLS:
            address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
            binding.add_symbol(_NAMES.get(name, f"roost.{name}"), address)
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
    except (ImportError, OSError, AttributeError, RuntimeError) as error:
        raise Refused(f"no compiler: {error}") from None
    return binding
