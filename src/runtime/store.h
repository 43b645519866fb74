/*
 * The state file has two pairs of slots. Each pair holds two copies of a record.
 *
 *     pair 0: slot 0, slot 1     pair 1: slot 2, slot 3     128 KiB apart
 *
 * A write fills both slots of the pair that does not hold the latest record, and ends with one
 * fdatasync. If that succeeds, the record is acknowledged, and only then may the member send
 * anything that depends on it. When the file is opened, the intact slot with the highest sequence
 * number wins. Its record may be only in the page cache, so store_open() writes it again to both
 * slots of its pair: first over the copy that may be damaged, then over the intact one, with a sync
 * before, between and after.
 *
 * An unreadable slot hides no acknowledged record if its twin, the other slot of the pair, is
 * intact: an acknowledged record was synced to both slots, and since then the twin has received
 * only that record or later ones. If the twin is not intact either, the unreadable slot may hold
 * the only intact copy, because the power may have failed while the twin was being written again.
 * store_open() then refuses the file.
 *
 * A record that was never acknowledged may win. This is safe, because every field only grows, or
 * belongs to a field that only grows. There are two exceptions: the longest granted lease becomes
 * shorter once no grant of that length can be in force, and a peer may be forgotten (see
 * saved_begin()). Members are kept by id and groups by name, because ranks change with the
 * configuration.
 */
#ifndef ELECT_RUNTIME_STORE_H
#define ELECT_RUNTIME_STORE_H

#include "session.h"

#define STORE_GROUPS  64
#define STORE_MEMBERS 64
#define STORE_NAME    64 /* including the NUL */
#define STORE_STRIDE  (128 * 1024)
#define STORE_SIZE    (4 * STORE_STRIDE)

struct state_member {
    uint16_t id;
    uint8_t roles; /* bits: 1 may lead, 2 votes, 4 voted in the previous membership */
};

struct state_group {
    char name[STORE_NAME];
    uint64_t promised, used, stamp;
    uint64_t closed[STORE_MEMBERS]; /* this and all earlier terms of its owner ended; 0: none */
    uint32_t longest, round, pause, version;
    uint16_t members;
    struct state_member member[STORE_MEMBERS];
};

struct state_peer {
    uint16_t id;
    uint32_t met; /* latest incarnation seen by the core: see elect_readmit() */
    struct session_memory known;
};

struct state {
    uint8_t cluster[SEAL_CLUSTER];
    uint16_t node;
    uint16_t peers, groups;
    uint32_t incarnation;
    uint64_t sequence;
    uint8_t condemned; /* 0, or 1 + the enum session_refusal that told this member to stop */
    struct state_peer peer[SESSION_PEERS];
    struct state_group group[STORE_GROUPS];
};

/* name, text for the user */
#define STORE_ERRORS(X)                                                                            \
    X(FINE, "fine")                                                                                \
    X(IO, "it cannot be read or written")                                                          \
    X(EMPTY, "it is damaged (it has no intact record): move it away, then run elect readmit")      \
    X(OTHER_CLUSTER, "it belongs to another cluster: compare cluster id and state-dir")            \
    X(OTHER_NODE, "it belongs to another member: compare the ids of the members")                  \
    X(FORMAT, "it was written by a later version: install that version")

enum store_error {
#define X(name, text) STORE_##name,
    STORE_ERRORS(X)
#undef X
        STORE_ERROR_COUNT
};

/* File operations, which return 0 or an errno. */
struct store_file {
    int (*read)(void *context, void *bytes, size_t length, uint64_t offset);
    int (*write)(void *context, const void *bytes, size_t length, uint64_t offset);
    int (*sync)(void *context);
    void *context;
};

struct store {
    struct store_file file;
    uint8_t pair;
    int error; /* errno after STORE_IO */
    uint64_t sequence;
    uint8_t slot[STORE_STRIDE];
};

const char *store_text(enum store_error error);

/* Reads the latest record and makes sure that it is on disk. The caller sets the expected cluster
 * and node in `state`. */
enum store_error store_open(struct store *s, const struct store_file *file, struct state *state);

/* Writes and syncs the state with the next sequence number. After an error, the member must not
 * write or send anything more. */
enum store_error store_write(struct store *s, struct state *state);

/* Writes the first record into a file of zeros. */
enum store_error store_format(struct store *s, const struct store_file *file, struct state *state);

#endif
