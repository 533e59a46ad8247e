/* Arithmetic with variables, compiled and evaluated: codeplea/tinyexpr. */
#include "tinyexpr.c"

int main(void) {
    static const char *texts[] = {"1+2*3^2", "sqrt(x^2+y^2)", "sin(x)*cos(y)-pi", "(x+1)*(y-2)/(3%2)", "max(x",
                                  "fac(5)+ncr(6,2)+npr(5,3)", "-2^2+exp(1)", "1,2,x", "floor(y)+ceil(x)"};
    double x = 0.0, y = 0.0;
    te_variable variables[] = {{"x", &x, TE_VARIABLE, 0}, {"y", &y, TE_VARIABLE, 0}};
    for (int i = 0; i < 9; i++) {
        int error = 0;
        te_expr *compiled = te_compile(texts[i], variables, 2, &error);
        printf("%d: error at %d\n", i, error);
        if (!compiled)
            continue;
        for (x = 0.25; x < 1.0; x += 0.25) {
            y = 2.5 - x;
            printf("  %.9g\n", te_eval(compiled));
        }
        te_free(compiled);
    }
    return 0;
}
