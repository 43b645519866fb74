/* Opens a state file with arbitrary bytes and a correct checksum in one slot. */
#include "../../src/runtime/store.c"

#include <sodium.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static uint8_t file_bytes[STORE_SIZE];

static int get(void *context, void *bytes, size_t length, uint64_t offset)
{
    (void)context;
    memcpy(bytes, file_bytes + offset, length);
    return 0;
}

static int put(void *context, const void *bytes, size_t length, uint64_t offset)
{
    (void)context;
    memcpy(file_bytes + offset, bytes, length);
    return 0;
}

static int done(void *context)
{
    (void)context;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static const struct store_file file = {get, put, done, NULL};
    static struct store s;
    static struct state state, again;
    if (sodium_init() < 0 || length > STORE_STRIDE)
        return 0;
    memset(file_bytes, 0, sizeof file_bytes);
    memcpy(file_bytes, bytes, length);
    struct bytes head = {file_bytes + 16, file_bytes + CHECKSUM_AT, true};
    if (take_head(&head, &state)) {
        checksum(file_bytes, slot_length(state.groups), file_bytes + CHECKSUM_AT);
        enum store_error error = store_open(&s, &file, &state);
        if (error == STORE_FINE && store_write(&s, &state) == STORE_FINE) {
            again = state;
            assert(store_open(&s, &file, &again) == STORE_FINE);
            assert(memcmp(&again, &state, sizeof state) == 0);
        }
    }
    return 0;
}
