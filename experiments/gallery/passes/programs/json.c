/* Tokens of JSON texts, right and wrong ones: zserge/jsmn. */
#include <stdio.h>
#include <string.h>
#define JSMN_PARENT_LINKS
#define JSMN_STRICT
#include "jsmn.h"

int main(void) {
    static const char *texts[] = {"{\"a\": 1, \"b\": [true, null, -1.5e3], \"c\": {\"d\": \"\\u00e9\\n\"}}", "[1, 2, {\"x\": []}]",
                                  "{\"open\": [1, 2", "{1: 2}", "\"\\q\"", "  [ \"text\" , false ]  ", "]"};
    for (int i = 0; i < 7; i++) {
        jsmn_parser parser;
        jsmntok_t tokens[32];
        jsmn_init(&parser);
        int count = jsmn_parse(&parser, texts[i], strlen(texts[i]), tokens, 32);
        printf("%d: %d\n", i, count);
        for (int t = 0; t < count; t++)
            printf("  %d %.*s %d %d\n", (int)tokens[t].type, tokens[t].end - tokens[t].start,
                   texts[i] + tokens[t].start, tokens[t].size, tokens[t].parent);
    }
    return 0;
}
