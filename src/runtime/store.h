/*
 * The durable state is one file with two pairs of slots. Each pair holds two copies of a record.
 *
 *     pair 0: slot 0, slot 1     pair 1: slot 2, slot 3     128 KiB apart
 *
 * A write fills both slots of the pair that does not hold the latest record, and ends with one
 * fdatasync. If that succeeds, the record is acknowledged, and only then may the member send
 * anything that depends on the record. When the file is opened, the intact slot with the highest
 * sequence wins. The record in that slot may be only in the page cache, while the disk holds only
 * the records of the other pair. Therefore store_open() writes the record again to both slots of
 * its pair: first over the copy that may be damaged, then over the intact one, with a sync before,
 * between and after.
 *
 * An unreadable slot hides no acknowledged record if its twin, the other slot of the pair, is
 * intact: an acknowledged record was synced to both slots, and since then the twin has received
 * only that record or later ones. If the twin is not intact either, the unreadable slot may hold
 * the only intact copy, because the power may have failed while the twin was being written again.
 * store_open() then refuses the file.
 *
 * A record that was written but never acknowledged may win. This outcome is safe, because every
 * field only grows, or belongs to a field that only grows. There are two exceptions: the longest
 * granted lease becomes shorter when no grant of that length can be in force any more, and a peer
 * may be forgotten (see saved_begin). Members are kept by number and groups by name, because ranks
 * may change with the configuration.
 */
#ifndef ELECT_RUNTIME_STORE_H
#define ELECT_RUNTIME_STORE_H

#include "session.h"

#define STORE_GROUPS  64
#define STORE_MEMBERS 64
#define STORE_NAME    64 /* the room for the name of a group, including its NUL */
#define STORE_STRIDE  (128 * 1024)
#define STORE_SIZE    (4 * STORE_STRIDE)

struct state_member {
    uint16_t id;
    uint8_t roles; /* bits: 1 may lead, 2 votes, 4 voted in the previous membership */
};

struct state_group {
    char name[STORE_NAME];
    uint64_t promised, used, stamp;
    /* Each of these terms has ended, and so have all earlier terms of its owner; 0: none. */
    uint64_t closed[STORE_MEMBERS];
    uint32_t longest, round, pause, version;
    uint16_t members;
    struct state_member member[STORE_MEMBERS];
};

struct state_peer {
    uint16_t id;
    uint32_t met; /* the latest incarnation of the peer that the core has seen: see elect_readmit */
    struct session_memory known;
};

struct state {
    uint8_t cluster[SEAL_CLUSTER];
    uint16_t node;
    uint16_t peers, groups;
    uint32_t incarnation;
    uint64_t sequence;
    uint8_t condemned; /* 0, or 1 + the reason for which other members refused this member */
    struct state_peer peer[SESSION_PEERS];
    struct state_group group[STORE_GROUPS];
};

/* Each error has a name, and a text for the user. */
#define STORE_ERRORS(X)                                                                            \
    X(FINE, "fine")                                                                                \
    X(IO, "it cannot be read or written") /* `error` of struct store tells why */                  \
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

/* The functions with which the store accesses its file. Each function returns 0 or an errno. */
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

/* Reads the latest record, which is on the disk when this function returns. The caller has filled
 * in the cluster and the node to which the record must belong. */
enum store_error store_open(struct store *s, const struct store_file *file, struct state *state);

/* Writes and syncs the state with the next sequence. After an error, the member must not write or
 * send anything any more. */
enum store_error store_write(struct store *s, struct state *state);

/* Writes the first record into a file of zeros. */
enum store_error store_format(struct store *s, const struct store_file *file, struct state *state);

#endif
