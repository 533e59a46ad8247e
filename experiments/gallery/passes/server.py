"""A separate process that applies LLVM's passes: ``python server.py LIBRARY``.

LLVM aborts its process on some orders of passes, so it does not run in the process of the search. This file
is run as a script and imports neither the library nor NumPy, so that a new process starts in milliseconds.
It reads pickled requests ``(bitcode, pipeline)`` from its input and answers each with ``(bitcode, size)``,
where size is the number of instructions, or with an error message.
"""

import ctypes
import pickle
import resource
import sys
from itertools import product

# Seconds of CPU time after which the process ends: some orders of passes let a program grow endlessly.
_CPU_SECONDS = 20

Applied = tuple[bytes, int]
"""Bitcode, and the number of its instructions."""


class Library:
    """LLVM's shared library through its C interface: passes are named as for ``opt -passes=...``."""

    def __init__(self, path: str) -> None:
        self._llvm = llvm = ctypes.CDLL(path)
        for name in ("ContextCreate", "CreateMemoryBufferWithMemoryRangeCopy", "CreatePassBuilderOptions"):
            getattr(llvm, f"LLVM{name}").restype = ctypes.c_void_p
        for part, place in product(("Function", "BasicBlock", "Instruction"), ("First", "Next")):
            function = getattr(llvm, f"LLVMGet{place}{part}")
            function.restype, function.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
        for name in ("RunPasses", "WriteBitcodeToMemoryBuffer", "GetBufferStart", "CreateTargetMachine"):
            getattr(llvm, f"LLVM{name}").restype = ctypes.c_void_p
        llvm.LLVMGetBufferSize.restype = ctypes.c_size_t
        llvm.LLVMGetErrorMessage.restype = ctypes.c_void_p
        llvm.LLVMGetDefaultTargetTriple.restype = ctypes.c_void_p
        self._options = ctypes.c_void_p(llvm.LLVMCreatePassBuilderOptions())
        self._machine = self._host()

    def _host(self) -> ctypes.c_void_p:
        """A target, which tells passes the cost of instructions."""
        llvm = self._llvm
        for part in ("TargetInfo", "Target", "TargetMC"):
            getattr(llvm, f"LLVMInitializeX86{part}")()
        triple, target, error = b"x86_64-pc-linux-gnu", ctypes.c_void_p(), ctypes.c_void_p()
        if llvm.LLVMGetTargetFromTriple(triple, ctypes.byref(target), ctypes.byref(error)):
            raise OSError("LLVM does not know the target x86_64")
        return ctypes.c_void_p(llvm.LLVMCreateTargetMachine(target, triple, b"x86-64", b"", 2, 0, 0))

    def applied(self, bitcode: bytes, pipeline: str) -> Applied | str:
        """The module after a pipeline of passes, which may be empty."""
        llvm = self._llvm
        context = ctypes.c_void_p(llvm.LLVMContextCreate())
        try:
            llvm.LLVMContextSetDiscardValueNames(context, 1)  # names would make equal modules different
            buffer = ctypes.c_void_p(
                llvm.LLVMCreateMemoryBufferWithMemoryRangeCopy(bitcode, ctypes.c_size_t(len(bitcode)), b"in")
            )
            module = ctypes.c_void_p()
            if llvm.LLVMParseBitcodeInContext2(context, buffer, ctypes.byref(module)):
                return "LLVM cannot read the bitcode"
            llvm.LLVMDisposeMemoryBuffer(buffer)
            if pipeline:
                error = llvm.LLVMRunPasses(module, pipeline.encode(), self._machine, self._options)
                if error:
                    text = llvm.LLVMGetErrorMessage(ctypes.c_void_p(error))
                    return ctypes.string_at(ctypes.c_void_p(text)).decode()
                if llvm.LLVMVerifyModule(module, 2, None):
                    return f"the module is broken after {pipeline}"
            out = ctypes.c_void_p(llvm.LLVMWriteBitcodeToMemoryBuffer(module))
            written = ctypes.string_at(llvm.LLVMGetBufferStart(out), llvm.LLVMGetBufferSize(out))
            llvm.LLVMDisposeMemoryBuffer(out)
            return written, self._size(module)
        finally:
            llvm.LLVMContextDispose(context)

    def _size(self, module: ctypes.c_void_p) -> int:
        llvm, found = self._llvm, 0
        next_block, next_instruction = llvm.LLVMGetNextBasicBlock, llvm.LLVMGetNextInstruction
        function = llvm.LLVMGetFirstFunction(module)
        while function:
            block = llvm.LLVMGetFirstBasicBlock(function)
            while block:
                instruction = llvm.LLVMGetFirstInstruction(block)
                while instruction:
                    found += 1
                    instruction = next_instruction(instruction)
                block = next_block(block)
            function = llvm.LLVMGetNextFunction(function)
        return found


def serve(library: str) -> None:
    """Answer requests until the input ends."""
    llvm = Library(library)
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while True:
        try:
            bitcode, pipeline = pickle.load(requests)
        except EOFError:
            return
        used = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        resource.setrlimit(resource.RLIMIT_CPU, (int(used) + _CPU_SECONDS, resource.RLIM_INFINITY))
        pickle.dump(llvm.applied(bitcode, pipeline), answers)
        answers.flush()


if __name__ == "__main__":
    serve(sys.argv[1])
