/* Matches of patterns in texts: kokke/tiny-regex-c. */
#include <stdio.h>
#include "re.c"

int main(void) {
    static const char *patterns[] = {"\\d+", "^a[b-e]*f$", "[^\\s]+@\\w+", "x?y+z*", "\\D\\S.\\W", "[a-zA-Z]+\\d", "."};
    static const char *texts[] = {"abcdef", "me 2026@home", "xyyzz 42", "..!a1 b2", "", "yyyy\tzz 7"};
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 6; j++) {
            int length = 0;
            int at = re_match(patterns[i], texts[j], &length);
            printf("%d %d: %d %d\n", i, j, at, at < 0 ? 0 : length);
        }
    return 0;
}
