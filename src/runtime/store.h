/*
 * The durable state: one file, two pairs of slots, two copies in each.
 *
 *     pair 0: slot 0, slot 1     pair 1: slot 2, slot 3     128 KiB apart
 *
 * A write goes to both copies of the pair that does not hold the latest record, followed by one
 * fdatasync; only then may the member send anything that depends on it. The intact slot with the
 * highest sequence wins. When the file is opened, the winner may be in the page cache only, and the
 * slots of the other pair may be the only ones on the disk. Therefore the winner is first written
 * again in its own pair: one copy after the other, the one that may be damaged first, with a sync
 * before, between and after.
 *
 * An unreadable slot hides no acknowledged record if its twin, the other slot of the pair, is
 * intact: an acknowledged record was synced in both, and since then only records that are as late
 * or later have been written to the twin. If the twin is not intact either, the unreadable slot may
 * hold the only intact copy, because the power failed while the twin was being written again. Then
 * the file is refused.
 *
 * A record that was written but never acknowledged may win. That is safe, because every field only
 * grows, or belongs to a field that does. There are two exceptions: the longest lease falls when no
 * grant of that length can be in force, and a peer may be forgotten (see saved_begin). Members are
 * kept by number and groups by name, because ranks may change with the configuration.
 */
#ifndef ELECT_RUNTIME_STORE_H
#define ELECT_RUNTIME_STORE_H

#include "session.h"

#define STORE_GROUPS  64
#define STORE_MEMBERS 64
#define STORE_NAME    64 /* including its NUL */
#define STORE_STRIDE  (128 * 1024)
#define STORE_SIZE    (4 * STORE_STRIDE)

struct state_member {
    uint16_t id;
    uint8_t roles; /* bits: may lead 1, votes 2, voted before 4 */
};

struct state_group {
    char name[STORE_NAME];
    uint64_t promised, used, stamp;
    uint64_t closed[STORE_MEMBERS]; /* terms of any member that are over; 0: none */
    uint32_t longest, round, pause, version;
    uint16_t members;
    struct state_member member[STORE_MEMBERS];
};

struct state_peer {
    uint16_t id;
    uint32_t met; /* its latest incarnation in messages of the core: see elect_readmit */
    struct session_memory known;
};

struct state {
    uint8_t cluster[SEAL_CLUSTER];
    uint16_t node;
    uint16_t peers, groups;
    uint32_t incarnation;
    uint64_t sequence;
    uint8_t condemned; /* 1 + why the other members told it to stop; never 0 again */
    struct state_peer peer[SESSION_PEERS];
    struct state_group group[STORE_GROUPS];
};

/* name, text for the user */
#define STORE_ERRORS(X)                                                                            \
    X(FINE, "fine")                                                                                \
    X(IO, "reading or writing failed")                                                             \
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

/* Each function returns 0 or an errno. */
struct store_file {
    int (*read)(void *context, void *bytes, size_t length, uint64_t offset);
    int (*write)(void *context, const void *bytes, size_t length, uint64_t offset);
    int (*sync)(void *context);
    void *context;
};

struct store {
    struct store_file file;
    uint8_t pair; /* the pair that holds the latest record */
    int error;    /* the errno after STORE_IO */
    uint64_t sequence;
    uint8_t slot[STORE_STRIDE];
};

const char *store_text(enum store_error error);

/* Reads the latest record, which is on the disk when this returns. The caller has filled in the
 * cluster and the node to which it must belong. */
enum store_error store_open(struct store *s, const struct store_file *file, struct state *state);

/* Writes and syncs the state with the next sequence. After an error, the member must not write or
 * send anything any more. */
enum store_error store_write(struct store *s, struct state *state);

/* Writes the first record into a file of zeros. */
enum store_error store_format(struct store *s, const struct store_file *file, struct state *state);

#endif
