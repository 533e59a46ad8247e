/* Words and their counts: a hash table with open addressing that grows, deletes and iterates. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct slot { char *key; uint32_t hash; long count; };
struct table { struct slot *slots; size_t size, used, dead; };

static char tombstone[1];

static uint32_t digest(const char *text, size_t length) {
    uint32_t h = (uint32_t)length * 0x9e3779b1u;
    while (length >= 4) { uint32_t k; memcpy(&k, text, 4); k *= 0xcc9e2d51u; k = k << 15 | k >> 17; h ^= k * 0x1b873593u; h = (h << 13 | h >> 19) * 5 + 0xe6546b64u; text += 4; length -= 4; }
    while (length--) h = (h ^ (unsigned char)*text++) * 16777619u;
    h ^= h >> 16; h *= 0x85ebca6bu; h ^= h >> 13;
    return h;
}

static struct slot *find(struct table *t, const char *key, uint32_t hash) {
    struct slot *grave = NULL;
    for (size_t i = hash & (t->size - 1);; i = (i + 1) & (t->size - 1)) {
        struct slot *s = &t->slots[i];
        if (!s->key) return grave ? grave : s;
        if (s->key == tombstone) { if (!grave) grave = s; }
        else if (s->hash == hash && strcmp(s->key, key) == 0) return s;
    }
}

static void grow(struct table *t) {
    struct slot *old = t->slots;
    size_t size = t->size;
    t->size = t->used * 4 > size ? size * 2 : size;
    t->slots = calloc(t->size, sizeof *t->slots);
    if (!t->slots) abort();
    t->dead = 0;
    for (size_t i = 0; i < size; i++) if (old[i].key && old[i].key != tombstone) *find(t, old[i].key, old[i].hash) = old[i];
    free(old);
}

static void add(struct table *t, const char *key, long count) {
    size_t length = strlen(key);
    uint32_t hash = digest(key, length);
    struct slot *s = find(t, key, hash);
    if (s->key && s->key != tombstone) { s->count += count; return; }
    if (s->key == tombstone) t->dead--;
    s->key = malloc(length + 1);
    if (!s->key) abort();
    memcpy(s->key, key, length + 1);
    s->hash = hash; s->count = count; t->used++;
    if ((t->used + t->dead) * 3 > t->size * 2) grow(t);
}

static void discard(struct table *t, const char *key) {
    struct slot *s = find(t, key, digest(key, strlen(key)));
    if (!s->key || s->key == tombstone) return;
    free(s->key);
    s->key = tombstone; t->used--; t->dead++;
}

static int work(int print) {
    struct table t = {calloc(16, sizeof(struct slot)), 16, 0, 0};
    uint64_t state = 88172645463325252ull;
    char word[32];
    for (int step = 0; step < 120000; step++) {
        state ^= state << 13; state ^= state >> 7; state ^= state << 17;
        int length = 1 + (int)(state % 3), i;
        for (i = 0; i < length; i++) word[i] = (char)('a' + (state >> (8 + 5 * i)) % 26);
        word[i] = '\0';
        if (state >> 60 == 7) discard(&t, word); else add(&t, word, 1 + step % 3);
    }
    uint64_t sum = 0, most = 0;
    for (size_t i = 0; i < t.size; i++) {
        struct slot *s = &t.slots[i];
        if (!s->key || s->key == tombstone) continue;
        sum += (uint64_t)s->count * (s->hash % 1009);
        if ((uint64_t)s->count > most) most = (uint64_t)s->count;
        free(s->key);
    }
    if (print) printf("%zu %zu %llu %llu\n", t.used, t.size, (unsigned long long)sum, (unsigned long long)most);
    free(t.slots);
    return 0;
}

int main(int argc, char **argv) {
    for (int left = argc > 1 ? atoi(argv[1]) : 1; left > 1; left--) work(0);
    return work(1);
}
