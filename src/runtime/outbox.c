/*
 * Sends messages and notes. A peer's outbox collects records (group mark, length, message), which
 * are packed into as few datagrams as possible.
 */
#include "member.h"

#include "bytes.h"

#define RECORD_HEAD 6

_Static_assert(RECORD_HEAD + ELECT_UV_NOTE <= SESSION_ROOM, "a note fits into a datagram");

void outbox_put(struct outbox *box, uint32_t mark, const uint8_t *bytes, size_t length)
{
    struct bytes b = {box->bytes + box->used, box->bytes + OUTBOX_ROOM, true};
    if (!bytes_room(&b, RECORD_HEAD + length))
        return;
    put_number(&b, mark, 4);
    put_number(&b, length, 2);
    put_bytes(&b, bytes, length);
    box->used += RECORD_HEAD + length;
}

/* If a dynamic peer may have moved, each packet goes to both addresses: a leader that has moved
 * needs grants at its new address before the suspicion time has passed. */
void member_send(struct elect_member *m, unsigned peer, const uint8_t *bytes, size_t length)
{
    for (unsigned link = 0; link < m->peer[peer].links && length > 0; link++) {
        const struct candidate *c = &m->candidate[peer][link];
        net_send(&m->net, link, &m->peer[peer].link[link], bytes, length);
        if (member_is_candidate_heard(m, c))
            net_send(&m->net, link, &c->address, bytes, length);
    }
}

/* Returns the length of the records after offset `from` that fit into one datagram. */
static size_t datagram_length(const struct outbox *box, size_t from)
{
    size_t length = 0;
    while (from + length < box->used) {
        const uint8_t *head = box->bytes + from + length;
        size_t record = RECORD_HEAD + (size_t)(head[4] | head[5] << 8);
        if (length + record > SESSION_ROOM)
            break;
        length += record;
    }
    return length;
}

static void empty_outbox(struct elect_member *m, unsigned peer, struct outbox *box,
                         size_t (*seal)(struct sessions *, unsigned, const uint8_t *, size_t,
                                        uint8_t *))
{
    uint8_t packet[SEAL_MAX_PACKET];
    for (size_t at = 0, length; at < box->used; at += length) {
        length = datagram_length(box, at);
        member_send(m, peer, packet,
                    seal(m->sessions, m->session_of[peer], box->bytes + at, length, packet));
    }
    box->used = 0;
}

/* Notes have their own datagrams, so that they take no room from the messages of members. */
static void send_note(struct elect_member *m, unsigned peer)
{
    uint8_t content[SESSION_ROOM], packet[SEAL_MAX_PACKET];
    struct bytes b = {content, content + sizeof content, true};
    struct note *note = &m->note[peer];
    put_number(&b, MEMBER_NOTE_MARK, 4);
    put_number(&b, note->length, 2);
    put_bytes(&b, note->bytes, note->length);
    size_t length = RECORD_HEAD + note->length;
    note->length = 0;
    member_send(m, peer, packet,
                sessions_seal(m->sessions, m->session_of[peer], content, length, packet));
}

void member_flush(struct elect_member *m)
{
    for (unsigned i = 0; i < m->peers; i++) {
        empty_outbox(m, i, &m->out[i], sessions_seal);
        empty_outbox(m, i, &m->out_lost[i], sessions_seal_lost);
        if (m->note[i].length > 0)
            send_note(m, i);
    }
    net_flush(&m->net);
}
