/* Reads and writes the key file. Keys are wiped from memory when no longer needed, and a new file
 * replaces the old one in one step. */
#include "keys.h"

#include "../base/access.h"
#include "../base/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEYS_BYTES 1024

/* ---- reading ---- */

static bool take_line(struct keys *k, const char *line)
{
    struct elect_key *key = &k->key[k->count];
    uint64_t id;
    size_t length;
    if (!parse_digits(&line, 255, &id) || line[0] != ' ' || k->count == ELECT_UV_KEYS)
        return false;
    key->id = (uint8_t)id;
    if (strlen(line + 1) != 2 * ELECT_UV_KEY ||
        sodium_hex2bin(key->key, ELECT_UV_KEY, line + 1, 2 * ELECT_UV_KEY, NULL, &length, NULL) !=
            0 ||
        length != ELECT_UV_KEY || sodium_is_zero(key->key, ELECT_UV_KEY))
        return false;
    for (unsigned i = 0; i < k->count; i++)
        if (k->key[i].id == key->id)
            return false;
    k->count++;
    return true;
}

bool keys_parse(struct keys *k, char *text, struct text *complaint)
{
    k->count = 0;
    for (char *next, *line = text; line != NULL; line = next) {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        if (line[0] != '\0' && line[0] != '#' && !take_line(k, line)) {
            text_add(complaint, "not a key: expected a line such as \"1 64-HEX-DIGITS\", or two "
                                "with different numbers");
            return false;
        }
    }
    if (k->count == 0)
        text_add(complaint, "the file has no key: copy the key of the cluster there");
    return k->count > 0;
}

static bool is_own(int fd, const char *path, enum keys_whose whose, struct text *complaint)
{
    struct stat is;
    if (fstat(fd, &is) != 0 || !S_ISREG(is.st_mode))
        return text_complain(complaint, path, "it is not a regular file",
                             ": copy the key of the cluster there");
    bool roots = whose == KEYS_LOOKED_AFTER && geteuid() == 0;
    if (!roots && is.st_uid != geteuid() && is.st_uid != 0)
        return text_complain(complaint, path, "another user owns it",
                             ": it must belong to root or to the user that runs elect");
    return true;
}

static bool is_private(int fd, const char *path, struct text *complaint)
{
    struct stat is;
    return (fstat(fd, &is) == 0 && (is.st_mode & 077) == 0) ||
           text_complain(complaint, path, "other users may read it", ": chmod 600 it");
}

static bool take_file(struct keys *k, int fd, const char *path, struct text *complaint)
{
    char bytes[KEYS_BYTES];
    struct text why;
    ssize_t length = read(fd, bytes, sizeof bytes);
    int error = errno;
    text_clear(&why);
    bool fine = length >= 0 && (size_t)length < sizeof bytes;
    if (fine) {
        bytes[length] = '\0';
        fine = keys_parse(k, bytes, &why);
    } else {
        text_add(&why, length < 0
                           ? strerror(error)
                           : "it has more than 1023 bytes, too many for a key file: copy the "
                             "key of the cluster there");
    }
    sodium_memzero(bytes, sizeof bytes);
    return fine || text_complain(complaint, path, why.bytes, "");
}

bool keys_read(struct keys *k, const char *path, enum keys_whose whose, struct text *complaint)
{
    memset(k, 0, sizeof *k);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return text_complain(complaint, path,
                             errno == ELOOP ? "it is a symbolic link"
                                            : access_text(errno, path, ACCESS_READ),
                             errno == ENOENT  ? ": copy the key of the cluster there"
                             : errno == ELOOP ? ": give the path of the key itself"
                                              : "");
    bool fine = is_own(fd, path, whose, complaint) && take_file(k, fd, path, complaint) &&
                is_private(fd, path, complaint);
    close(fd);
    if (!fine)
        keys_wipe(k);
    return fine;
}

bool keys_are_in(const char *path)
{
    struct keys k;
    struct text why;
    struct stat is;
    memset(&k, 0, sizeof k);
    text_clear(&why);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    bool are =
        fd >= 0 && fstat(fd, &is) == 0 && S_ISREG(is.st_mode) && take_file(&k, fd, path, &why);
    if (fd >= 0)
        close(fd);
    keys_wipe(&k);
    return are;
}

/* ---- writing ---- */

static int fill(int fd, const struct keys *k)
{
    for (unsigned i = 0; i < k->count; i++) {
        char hex[2 * ELECT_UV_KEY + 1], line[2 * ELECT_UV_KEY + 8];
        sodium_bin2hex(hex, sizeof hex, k->key[i].key, ELECT_UV_KEY);
        int length = snprintf(line, sizeof line, "%u %s\n", k->key[i].id, hex);
        ssize_t put = write(fd, line, (size_t)length);
        int error = put == length ? 0 : put < 0 ? errno : ENOSPC;
        sodium_memzero(hex, sizeof hex);
        sodium_memzero(line, sizeof line);
        if (error != 0)
            return error;
    }
    return fsync(fd) == 0 ? 0 : errno;
}

/* Syncs the folder, so that the new file name survives a power failure. */
static void sync_folder(const char *path)
{
    char folder[512];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash + 1 - path) : 1,
             slash != NULL ? path : ".");
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)fsync(fd);
    close(fd);
}

bool keys_write(const struct keys *k, const char *path, bool fresh, struct text *complaint)
{
    char new[512];
    struct stat was;
    bool there = stat(path, &was) == 0;
    if ((size_t)snprintf(new, sizeof new, "%s.new", path) >= sizeof new)
        return text_complain(complaint, path, strerror(ENAMETOOLONG), "");
    if (fresh && there)
        return text_complain(complaint, path, "a key file exists already", "");
    unlink(new); /* left by an interrupted attempt */
    int fd = open(new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int error = fd < 0 ? errno : fill(fd, k);
    if (error == 0 && there && fchown(fd, was.st_uid, was.st_gid) != 0)
        error = errno;
    if (fd >= 0)
        close(fd);
    if (error == 0 && (fresh ? link(new, path) : rename(new, path)) != 0)
        error = errno;
    unlink(new);
    if (error == 0)
        sync_folder(path);
    return error == 0 || text_complain(complaint, path, access_text(error, new, ACCESS_MAKE), "");
}

static bool is_used(const struct keys *k, uint8_t id)
{
    bool used = false;
    for (unsigned i = 0; i < k->count; i++)
        used = used || k->key[i].id == id;
    return used;
}

void keys_draw(const struct keys *k, struct elect_key *key)
{
    unsigned highest = 0;
    for (unsigned i = 0; i < k->count; i++)
        highest = k->key[i].id > highest ? k->key[i].id : highest;
    key->id = (uint8_t)(highest + 1);
    while (is_used(k, key->id)) /* after the numbers have wrapped */
        key->id++;
    randombytes_buf(key->key, ELECT_UV_KEY);
}

void keys_wipe(struct keys *k) { sodium_memzero(k, sizeof *k); }
