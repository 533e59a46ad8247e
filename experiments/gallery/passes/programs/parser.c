/* A calculator: tokenizer, recursive-descent parser, syntax tree, evaluation, constant folding. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { NUMBER, NAME, ADD, SUB, MUL, DIV, MOD, NEG, LESS, EQUAL, CHOICE };
struct node { enum kind kind; long value; struct node *a, *b, *c; };

static struct node pool[1 << 16];
static int used;
static const char *at;

static struct node *make(enum kind kind, struct node *a, struct node *b, struct node *c) {
    struct node *made = &pool[used++];
    made->kind = kind; made->a = a; made->b = b; made->c = c; made->value = 0;
    return made;
}

static void skip(void) { while (isspace((unsigned char)*at)) at++; }
static int accept(char c) { skip(); if (*at != c) return 0; at++; return 1; }
static struct node *expression(void);

static struct node *primary(void) {
    skip();
    if (accept('(')) { struct node *inner = expression(); if (!accept(')')) exit(3); return inner; }
    if (accept('-')) return make(NEG, primary(), NULL, NULL);
    if (isdigit((unsigned char)*at)) {
        struct node *number = make(NUMBER, NULL, NULL, NULL);
        while (isdigit((unsigned char)*at)) number->value = number->value * 10 + (*at++ - '0');
        return number;
    }
    if (islower((unsigned char)*at)) { struct node *name = make(NAME, NULL, NULL, NULL); name->value = *at++ - 'a'; return name; }
    exit(4);
}

static struct node *term(void) {
    struct node *left = primary();
    for (;;) {
        if (accept('*')) left = make(MUL, left, primary(), NULL);
        else if (accept('/')) left = make(DIV, left, primary(), NULL);
        else if (accept('%')) left = make(MOD, left, primary(), NULL);
        else return left;
    }
}

static struct node *sum(void) {
    struct node *left = term();
    for (;;) {
        if (accept('+')) left = make(ADD, left, term(), NULL);
        else if (accept('-')) left = make(SUB, left, term(), NULL);
        else return left;
    }
}

static struct node *expression(void) {
    struct node *left = sum();
    if (accept('<')) left = make(LESS, left, sum(), NULL);
    else if (accept('=')) left = make(EQUAL, left, sum(), NULL);
    if (accept('?')) { struct node *yes = expression(); if (!accept(':')) exit(5); left = make(CHOICE, left, yes, expression()); }
    return left;
}

static long evaluate(const struct node *n, const long *names) {
    long x, y;
    switch (n->kind) {
    case NUMBER: return n->value;
    case NAME: return names[n->value];
    case NEG: return -evaluate(n->a, names);
    case CHOICE: return evaluate(n->a, names) ? evaluate(n->b, names) : evaluate(n->c, names);
    default: break;
    }
    x = evaluate(n->a, names); y = evaluate(n->b, names);
    switch (n->kind) {
    case ADD: return (x + y) % 1000003;
    case SUB: return (x - y) % 1000003;
    case MUL: return x * y % 1000003;
    case DIV: return y ? x / y : 0;
    case MOD: return y ? x % y : 0;
    case LESS: return x < y;
    default: return x == y;
    }
}

static struct node *fold(struct node *n) {
    long none[26] = {0};
    if (n->a) n->a = fold(n->a);
    if (n->b) n->b = fold(n->b);
    if (n->c) n->c = fold(n->c);
    if (n->kind >= ADD && (!n->a || n->a->kind == NUMBER) && (!n->b || n->b->kind == NUMBER) && (!n->c || n->c->kind == NUMBER)) {
        n->value = evaluate(n, none); n->kind = NUMBER; n->a = n->b = n->c = NULL;
    }
    return n;
}

static int size(const struct node *n) { return n ? 1 + size(n->a) + size(n->b) + size(n->c) : 0; }

static int work(int print) {
    static const char *texts[] = {
        "1 + 2 * (3 - x) * x + y % 7", "x < y ? x * x : y - (2 + 3) * 4", "((x + 1) * (x + 2) * (x + 3)) / (y + 1)",
        "-(x - y) * -(y - z) + (3 * 4 - 12) * z", "x = y ? 1 : y = z ? 2 : z = x ? 3 : 4", "12345 % (6 * 7) + a * b - c / (d + 1)",
    };
    unsigned long digest = 14695981039346656037ul;
    for (int round = 0; round < 400; round++) {
        for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
            long names[26];
            for (int name = 0; name < 26; name++) names[name] = (round * 31 + name * 17) % 97;
            used = 0; at = texts[i];
            struct node *tree = expression();
            int before = size(tree);
            tree = fold(tree);
            for (int more = 0; more < 40; more++) {
                names[(unsigned)more % 26] += more;
                digest = (digest ^ (unsigned long)(evaluate(tree, names) + before - size(tree))) * 1099511628211ul;
            }
        }
    }
    if (print) printf("%lu\n", digest);
    return 0;
}

int main(int argc, char **argv) {
    for (int left = argc > 1 ? atoi(argv[1]) : 1; left > 1; left--) work(0);
    return work(1);
}
