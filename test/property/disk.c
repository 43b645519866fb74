/* Runs the store on a simulated disk that may fail at any call. A kill keeps the page cache. After
 * a power failure, every unsynced sector has its old content, its new content, or garbage. Some
 * slots of the file cannot be read, either during one run of the process or forever. No
 * acknowledged write may be lost, and the store must open whenever the file can be read. */
#include "../../src/model/dice.h"
#include "../../src/runtime/store.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECTOR  512
#define SECTORS (STORE_SIZE / SECTOR)

static struct {
    struct dice dice;
    uint8_t durable[STORE_SIZE], cache[STORE_SIZE];
    bool dirty[SECTORS];
    unsigned left; /* number of calls until the disk fails */
    bool cut;      /* a power failure, not a kill */
    unsigned bad;  /* bits of the unreadable slots */
} disk;

static uint64_t below(uint64_t bound) { return dice_below(&disk.dice, bound); }

/* Returns true if this call fails. All later calls then fail, too. */
static bool fails(void)
{
    if (disk.left == 0)
        return true;
    disk.left--;
    return false;
}

static void flush(unsigned sector)
{
    memcpy(disk.durable + sector * SECTOR, disk.cache + sector * SECTOR, SECTOR);
    disk.dirty[sector] = false;
}

static int disk_read(void *context, void *bytes, size_t length, uint64_t offset)
{
    (void)context;
    if (fails() || (disk.bad >> offset / STORE_STRIDE & 1) != 0)
        return EIO;
    memcpy(bytes, disk.cache + offset, length);
    return 0;
}

/* Writes to the page cache. Any part of it may reach the disk at any time. */
static int disk_write(void *context, const void *bytes, size_t length, uint64_t offset)
{
    bool last = fails();
    (void)context;
    if (last)
        length = below(length + 1);
    memcpy(disk.cache + offset, bytes, length);
    for (size_t at = offset; at < offset + length; at++)
        if (at == offset || at % SECTOR == 0)
            disk.dirty[at / SECTOR] = true;
    for (unsigned i = 0; i < SECTORS && below(2) == 0; i++)
        if (disk.dirty[i] && below(2) == 0)
            flush(i);
    return last ? EIO : 0;
}

static int disk_sync(void *context)
{
    bool last = fails();
    (void)context;
    for (unsigned i = 0; i < SECTORS; i++)
        if (disk.dirty[i] && (!last || below(2) == 0))
            flush(i);
    return last ? EIO : 0;
}

static void die(void)
{
    for (unsigned i = 0; i < SECTORS && disk.cut; i++)
        if (disk.dirty[i]) {
            if (below(2) == 0)
                flush(i);
            if (below(8) == 0) /* the power failed during this write */
                disk.durable[i * SECTOR + below(SECTOR)] ^= 1;
            memcpy(disk.cache + i * SECTOR, disk.durable + i * SECTOR, SECTOR);
            disk.dirty[i] = false;
        }
}

static const struct store_file file = {disk_read, disk_write, disk_sync, NULL};

/* Opens the store and writes growing promises until the disk fails. Returns a violation, or
 * NULL. */
static const char *live(struct store *s, struct state *state, uint64_t *tried, uint64_t *told)
{
    enum store_error error = store_open(s, &file, state);
    if (error == STORE_IO || (error != STORE_FINE && disk.bad != 0))
        return NULL;
    if (error != STORE_FINE)
        return "the file cannot be opened";
    if (state->group[0].promised < *told)
        return "an acknowledged write is lost";
    for (;;) {
        state->incarnation++;
        state->group[0].promised = ++*tried;
        if (store_write(s, state) != STORE_FINE)
            return NULL;
        *told = state->group[0].promised;
    }
}

static const char *history(uint64_t seed)
{
    static struct store store;
    static struct state state;
    uint64_t tried = 1, told = 1;
    const char *wrong = NULL;
    unsigned bad;
    dice_seed(&disk.dice, seed, DICE_CRASH);
    memset(&state, 0, sizeof state);
    memset(disk.cache, 0, sizeof disk.cache);
    memset(disk.durable, 0, sizeof disk.durable);
    bad = below(4) == 0 ? 1u << below(4) : 0;
    state.groups = (uint16_t)(1 + below(3));
    state.group[0].promised = 1;
    disk.left = UINT32_MAX;
    if (store_format(&store, &file, &state) != STORE_FINE)
        return "the file cannot be created";
    for (unsigned lives = 0; lives < 12 && wrong == NULL; lives++) {
        disk.left = (unsigned)below(below(2) == 0 ? 12 : 24);
        disk.cut = below(2) == 0;
        disk.bad = bad | (unsigned)(below(4) == 0 ? below(16) : 0);
        wrong = live(&store, &state, &tried, &told);
        die();
    }
    return wrong;
}

int main(int argc, char **argv)
{
    uint64_t histories = argc > 1 ? strtoull(argv[1], NULL, 10) : 4000;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    if (sodium_init() < 0)
        return 1;
    for (uint64_t seed = first; seed < first + histories; seed++) {
        const char *wrong = history(seed);
        if (wrong != NULL) {
            fprintf(stderr, "seed %llu: %s\n", (unsigned long long)seed, wrong);
            return 1;
        }
    }
    printf("%llu histories of a dozen lives\n", (unsigned long long)histories);
    return 0;
}
