"""Run a program in a separate process: ``python execution.py``, with bitcode as its input.

Like ``server.py`` it is a script, so that a program that crashes or never ends affects nothing else.
"""

import ctypes
import resource
import sys

_CPU_SECONDS = 20


def run(bitcode: bytes) -> int:
    """Compile a module with llvmlite and call its ``main``; returns the result."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_bitcode(bitcode)
    engine = llvm.create_mcjit_compiler(module, llvm.Target.from_default_triple().create_target_machine())
    engine.finalize_object()
    engine.run_static_constructors()
    main = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_char_p))
    code: int = main(engine.get_function_address("main"))(1, (ctypes.c_char_p * 2)(b"program", None))
    ctypes.CDLL(None).fflush(None)
    return code


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
    sys.exit(run(sys.stdin.buffer.read()))
