"""Which compiler passes, in which order? Each step applies one pass of LLVM to a function: costly steps.

It prints:

    2 instructions after sroa loop_unroll simplify_cfg
"""

import llvmlite.binding as llvm

import dagsearch as ds

PROGRAM = """define i32 @squares(i32 %n) {
  %i = alloca i32
  %sum = alloca i32
  store i32 0, ptr %i
  store i32 %n, ptr %sum
  br label %body
body:
  %b = load i32, ptr %i
  %square = mul i32 %b, %b
  %c = load i32, ptr %sum
  %d = add i32 %c, %square
  store i32 %d, ptr %sum
  %h = add i32 %b, 1
  store i32 %h, ptr %i
  %go = icmp slt i32 %h, 8
  br i1 %go, label %body, label %end
end:
  %s = load i32, ptr %sum
  ret i32 %s
}
"""
PASSES = ["sroa", "simplify_cfg", "instruction_combine", "new_gvn", "loop_rotate", "loop_unroll", "sccp"]
llvm.initialize_native_target()
MACHINE = llvm.Target.from_default_triple().create_target_machine()


def measured(program):  # fewer instructions are better
    return ds.Step(str(program), value=-str(program).count("\n  "))


class Passes:
    """A state is the program, so that orders that lead to the same program are merged."""

    def root(self):
        return measured(llvm.parse_assembly(PROGRAM))

    def actions(self, program):
        return PASSES

    def expand(self, program, name):
        module = llvm.parse_assembly(program)
        manager = llvm.create_new_module_pass_manager()
        getattr(manager, f"add_{name}_pass")()
        manager.run(module, llvm.create_pass_builder(MACHINE, llvm.create_pipeline_tuning_options()))
        return measured(module)


result = ds.search(Passes(), budget=60, seed=0)
print(f"{-result.best_reward:.0f} instructions after", *result.best_path)
