/* Makes, writes and reads a state file, for test/system/state.py: state_tool PATH make | write
 * COUNT | read. "write" prints the promised term after each acknowledged write, "read" the term in
 * the file. On failure, prints the reason and exits with status 1. */
#include "../../src/runtime/file.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct store store;
static struct state state;
static struct file file;

static int failed(const char *what, int error)
{
    fprintf(stderr, "%s%s%s\n", what, error != 0 ? ": " : "", error != 0 ? strerror(error) : "");
    return 1;
}

static int make(const char *path)
{
    int error = 0;
    state.node = 7;
    state.groups = 1;
    enum file_error made = file_create(path, &store, &state, &error);
    return made == FILE_FINE ? 0 : failed(file_text(made), error);
}

static int use(const char *path, unsigned count)
{
    enum file_error opened = file_open(&file, path);
    struct store_file real = file_store(&file);
    if (opened != FILE_FINE)
        return failed(file_text(opened), file.error);
    state.node = 7;
    enum store_error error = store_open(&store, &real, &state);
    if (error != STORE_FINE)
        return failed(store_text(error), store.error);
    for (unsigned i = 0; i < count; i++) {
        char said[32];
        state.group[0].promised++;
        error = store_write(&store, &state);
        if (error != STORE_FINE)
            return failed(store_text(error), store.error);
        int length =
            snprintf(said, sizeof said, "%llu\n", (unsigned long long)state.group[0].promised);
        if (write(STDOUT_FILENO, said, (size_t)length) != length)
            return 1;
    }
    if (count == 0)
        printf("%llu\n", (unsigned long long)state.group[0].promised);
    return 0;
}

int main(int argc, char **argv)
{
    if (sodium_init() < 0 || argc < 3)
        return 64;
    if (strcmp(argv[2], "make") == 0)
        return make(argv[1]);
    return use(argv[1], argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0);
}
