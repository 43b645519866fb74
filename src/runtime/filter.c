/* The socket filter as a classic BPF program. */
#include "filter.h"

#include "seal.h"

#include <assert.h>
#include <linux/filter.h>
#include <sys/socket.h>

#define UDP_HEADER 8

/* Two instructions for each tag: compare, accept. */
bool filter_attach(int socket, const uint32_t *tags, unsigned count)
{
    struct sock_filter code[2 * FILTER_MAX_TAGS + 2];
    unsigned length = 0;
    assert(count <= FILTER_MAX_TAGS);
    code[length++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, UDP_HEADER + SEAL_TAG_OFFSET);
    for (unsigned i = 0; i < count; i++) {
        uint32_t wire = __builtin_bswap32(tags[i]); /* loaded as big-endian */
        code[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, wire, 0, 1);
        code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, UINT32_MAX);
    }
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
    struct sock_fprog program = {.len = (unsigned short)length, .filter = code};
    return setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

void filter_detach(int socket)
{
    int unused = 0;
    setsockopt(socket, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof unused);
}
