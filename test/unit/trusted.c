/* Tests which programs are run as hooks, even while another process changes their paths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../src/daemon/trusted.h"
#include "../skip.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OTHER_USER  12345 /* neither root nor, presumably, the user of this test */
#define FOREIGN     66    /* exit status of another user's program */
#define RACE        10000
#define LONG_ENOUGH 60 /* seconds, for a race that should take one */
#define AS_PROGRAM  "as-program"
#define SCRIPT      "#!/bin/sh\nexit $1\n"

static char folder[64];
static char self[PATH_MAX];
static pid_t swapper; /* 0 if none */

/* ---- a temporary folder of this user in /tmp, as trusted.h permits ---- */

static const char *at(const char *name)
{
    static char paths[4][PATH_MAX];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    assert_true(snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX);
    return path;
}

static void write_file(const char *path, const char *bytes, size_t length, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, length), length);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static void make_script(const char *name, mode_t mode)
{
    write_file(at(name), SCRIPT, strlen(SCRIPT), mode);
}

static void make_folder(const char *name, mode_t mode)
{
    assert_int_equal(mkdir(at(name), 0700), 0);
    assert_int_equal(chmod(at(name), mode), 0);
}

static void give_away(const char *name)
{
    assert_int_equal(lchown(at(name), OTHER_USER, OTHER_USER), 0);
}

static void remove_all(void)
{
    pid_t child = fork();
    if (child == 0) {
        execlp("rm", "rm", "-rf", folder, NULL);
        _exit(127);
    }
    waitpid(child, NULL, 0);
}

static int enter(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/elect-trusted-XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int leave(void **state)
{
    (void)state;
    if (swapper > 0) { /* left by a failed test */
        kill(swapper, SIGKILL);
        waitpid(swapper, NULL, 0);
    }
    swapper = 0;
    remove_all();
    return 0;
}

/* ---- which programs are trusted, and why others are refused ---- */

static void trusted(const char *path)
{
    struct text why;
    text_clear(&why);
    int fd = trusted_open(path, &why);
    assert_string_equal(why.bytes, "");
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    close(fd);
}

static void refused(const char *path, const char *where, const char *what)
{
    static struct text why, expected;
    text_clear(&why);
    text_clear(&expected);
    text_complain(&expected, where, what, "");
    assert_int_equal(trusted_open(path, &why), -1);
    assert_string_equal(why.bytes, expected.bytes);
}

/* Checks that the program `name` is refused, with a complaint about this file and not about a
 * folder above it. */
static void refused_at(const char *name, const char *what) { refused(at(name), at(name), what); }

#define LINK       "it is a symbolic link: write the path of the program itself"
#define NOT_OURS   "another user owns it: it must belong to root or to the user that runs elect"
#define WRITABLE   "others may write to it: chmod go-w it"
#define MISSING    "No such file or directory: install it, or correct the path of the hook"
#define NO_NAME    "the path has \".\", \"..\" or an empty name there: write it without"
#define IN_THE_WAY "it is in a folder where others may put files: move it into a folder of its own"

static void programs_of_ours_are_trusted(void **state)
{
    (void)state;
    make_script("hook", 0755);
    make_folder("sub", 0755);
    make_script("sub/.hook", 0700);
    make_script("sub/..hook", 0700);
    trusted(at("hook"));
    trusted(at("sub/.hook"));
    trusted(at("sub/..hook"));
}

static void paths_are_absolute_and_plain(void **state)
{
    char path[2 * PATH_MAX], start[80];
    (void)state;
    make_script("hook", 0755);
    make_folder("sub", 0755);
    refused("hook", "hook", "not an absolute path: begin it with /");
    refused("", "", "not an absolute path: begin it with /");
    refused("/", "/", NO_NAME);
    refused("//bin/true", "/", NO_NAME);
    refused("/..", "/..", NO_NAME);
    refused(at("sub/../hook"), at("sub/.."), NO_NAME);
    refused(at("./hook"), at("."), NO_NAME);
    refused(at("sub//hook"), at("sub/"), NO_NAME);
    refused(at("sub/"), at("sub/"), NO_NAME);
    refused_at("missing", MISSING);
    refused(at("hook/"), at("hook"), "it is not a folder: correct the path of the hook");
    refused(at("hook/x"), at("hook"), "it is not a folder: correct the path of the hook");
    memset(path, 'a', sizeof path);
    path[0] = '/';
    path[NAME_MAX + 2] = '\0';
    snprintf(start, sizeof start, "%.64s...", path);
    refused(path, start, "a name in it is too long: use at most 255 bytes for each name");
    path[NAME_MAX + 1] = '\0';
    refused(path, path, MISSING);
    path[NAME_MAX + 1] = path[NAME_MAX + 2] = 'a';
    path[PATH_MAX] = '\0';
    refused(path, start, "the path is too long: use at most 4095 bytes");
}

static void only_executable_files_are_programs(void **state)
{
    (void)state;
    make_folder("folder", 0755);
    make_script("text", 0644);
    assert_int_equal(mkfifo(at("fifo"), 0700), 0);
    refused_at("folder", "it is not a regular file: write the path of a program");
    refused_at("fifo", "it is not a regular file: write the path of a program");
    refused_at("text", "it is not executable: chmod +x it");
    refused("/dev/null", "/dev/null", WRITABLE);
    if (mknod(at("device"), S_IFCHR | 0700, makedev(1, 3)) == 0)
        refused_at("device", "it is not a regular file: write the path of a program");
    else
        SKIP_PART("a device", "needs root");
}

static void links_are_not_followed(void **state)
{
    (void)state;
    make_folder("real", 0755);
    make_script("real/hook", 0755);
    assert_int_equal(symlink(at("real/hook"), at("hook")), 0);
    assert_int_equal(symlink("real", at("folder")), 0);
    assert_int_equal(symlink("nowhere", at("dangling")), 0);
    refused_at("hook", LINK);
    refused_at("dangling", LINK);
    refused(at("folder/hook"), at("folder"), LINK);
    refused("/proc/self/exe", "/proc/self", LINK);
}

static void no_other_user_may_write(void **state)
{
    (void)state;
    make_script("group", 0775);
    make_script("other", 0757);
    make_folder("open", 0777);
    make_script("open/hook", 0755);
    make_folder("shared", 0770);
    make_script("shared/hook", 0755);
    refused_at("group", WRITABLE);
    refused_at("other", WRITABLE);
    refused(at("open/hook"), at("open"), WRITABLE);
    refused(at("shared/hook"), at("shared"), WRITABLE);
}

static void no_other_user_may_own_it(void **state)
{
    (void)state;
    NEEDS_ROOT();
    make_script("hook", 0755);
    make_folder("folder", 0755);
    make_script("folder/hook", 0755);
    give_away("hook");
    give_away("folder");
    refused_at("hook", NOT_OURS);
    refused(at("folder/hook"), at("folder"), NOT_OURS);
}

/* Other users may write to a sticky folder such as /tmp. If root owns it, a program may be in a
 * subfolder of it, but not directly in it. */
static void sticky_folders_are_passed(void **state)
{
    (void)state;
    NEEDS_ROOT();
    make_folder("sticky", 01777);
    make_script("sticky/hook", 0755);
    make_folder("sticky/ours", 0755);
    make_script("sticky/ours/hook", 0755);
    make_folder("sticky/theirs", 0755);
    make_script("sticky/theirs/hook", 0755);
    give_away("sticky/theirs");
    trusted(at("sticky/ours/hook"));
    refused_at("sticky/hook", IN_THE_WAY);
    refused(at("sticky/theirs/hook"), at("sticky/theirs"), NOT_OURS);
    give_away("sticky"); /* the folder's owner may remove any file in it */
    refused(at("sticky/ours/hook"), at("sticky"), NOT_OURS);
}

/* Runs in a process of its own, so that other processes do not see its mounts. */
static void mount_and_look(void)
{
    struct text why;
    text_clear(&why);
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", at("sticky/mounted"), "tmpfs", 0, "mode=755") != 0)
        _exit(77);
    make_script("sticky/mounted/hook", 0755);
    bool there = trusted_open(at("sticky/mounted/hook"), &why) >= 0;
    _exit(there ? 1 : strstr(why.bytes, "mounted: it is another file system, ") != NULL ? 0 : 2);
}

static void no_other_file_system_in_a_sticky_folder(void **state)
{
    int status;
    (void)state;
    NEEDS_ROOT();
    make_folder("sticky", 01777);
    make_folder("sticky/mounted", 0755);
    pid_t child = fork();
    if (child == 0)
        mount_and_look();
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        SKIP_CASE("needs the right to mount");
    }
    assert_int_equal(status, 0);
}

/* Checks, as a user other than root, that this user's and root's programs are trusted if the user
 * may execute them. */
static void look_as_other_user(void)
{
    static struct text why;
    text_clear(&why);
    if (setgid(OTHER_USER) != 0 || setuid(OTHER_USER) != 0)
        _exit(10);
    if (trusted_open(at("theirs"), &why) < 0 || trusted_open(at("roots"), &why) < 0)
        _exit(11);
    if (trusted_open(at("private"), &why) >= 0 ||
        strstr(why.bytes, "private: the user that runs elect may not execute it") == NULL)
        _exit(12);
    if (trusted_open(at("sticky/sub/hook"), &why) >= 0 || strstr(why.bytes, "chmod go-w") == NULL)
        _exit(13); /* root does not own the sticky folder */
    _exit(0);
}

static void another_user_trusts_itself_and_root(void **state)
{
    int status;
    (void)state;
    NEEDS_ROOT();
    assert_int_equal(chmod(folder, 0755), 0);
    make_script("theirs", 0755);
    make_script("roots", 0755);
    make_script("private", 0700);
    make_folder("sticky", 01777);
    make_folder("sticky/sub", 0755);
    make_script("sticky/sub/hook", 0755);
    give_away("theirs");
    give_away("sticky");
    pid_t child = fork();
    if (child == 0)
        look_as_other_user();
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* A script that the kernel cannot run is refused when elect starts, and not when the hook is
 * due. */
static void scripts_have_an_interpreter(void **state)
{
    static const struct {
        const char *bytes, *why;
    } scripts[] = {
        {"#!/bin/sh\n", NULL},
        {"#! /bin/sh -e\n", NULL},
        {"#!/no/such/interpreter -x\n", ": its interpreter /no/such/interpreter is missing"},
        {"#!/bin/sh\r\n", ": its interpreter /bin/sh? is missing"},
        {"exit 0\n", ": a script without an interpreter: begin it with #!/bin/sh"},
        {"", ": a script without an interpreter"},
        {"\177ELF", NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        static struct text why;
        text_clear(&why);
        write_file(at("hook"), scripts[i].bytes, strlen(scripts[i].bytes), 0755);
        assert_int_equal(trusted_check(at("hook"), geteuid(), &why), scripts[i].why == NULL);
        assert_true(scripts[i].why == NULL || strstr(why.bytes, scripts[i].why) != NULL);
        assert_int_equal(unlink(at("hook")), 0);
    }
}

/* ---- which program is executed ---- */

/* Runs when this test program is executed as a hook. The exit status tells whether this user owns
 * the program's file. */
static int be_a_program(void)
{
    struct stat is;
    return stat("/proc/self/exe", &is) == 0 && is.st_uid == geteuid() ? 0 : FOREIGN;
}

static int run(int fd, char *const argv[])
{
    char *const nothing[] = {NULL};
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(trusted_exec(fd, argv, nothing));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void the_opened_program_is_executed(void **state)
{
    char *const script[] = {"hook", "42", NULL}, *const program[] = {AS_PROGRAM, NULL};
    static struct text why;
    (void)state;
    make_script("hook", 0755);
    int fd = trusted_open(at("hook"), &why);
    /* an open program can be executed without its name */
    assert_int_equal(unlink(at("hook")), 0);
    assert_int_equal(run(fd, script), 42);
    /* cleared only in the child */
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    close(fd);
    write_file(at("broken"), "#!/no/such/interpreter\n", 23, 0755);
    fd = trusted_open(at("broken"), &why);
    assert_int_equal(run(fd, script), ENOENT);
    close(fd);
    write_file(at("junk"), "junk", 4, 0755);
    fd = trusted_open(at("junk"), &why);
    assert_int_equal(run(fd, script), ENOEXEC);
    close(fd);
    fd = open(self, O_PATH | O_CLOEXEC);
    assert_int_equal(run(fd, program), be_a_program());
    close(fd);
}

/* ---- which program is executed while another process swaps two names ---- */

struct shared {
    atomic_uint swaps;
    atomic_bool enough;
};

static void keep_swapping(struct shared *s, const char *one, const char *other)
{
    while (!atomic_load(&s->enough)) {
        if (renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE) != 0)
            _exit(errno);
        atomic_fetch_add(&s->swaps, 1);
    }
    _exit(0);
}

static void start_swapping(struct shared **s, const char *one, const char *other)
{
    *s = mmap(NULL, sizeof **s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(*s, MAP_FAILED);
    pid_t parent = getpid();
    swapper = fork();
    if (swapper == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            keep_swapping(*s, one, other);
        _exit(1);
    }
}

static void stop_swapping(struct shared *s)
{
    int status;
    atomic_store(&s->enough, true);
    assert_int_equal(waitpid(swapper, &status, 0), swapper);
    swapper = 0;
    assert_int_equal(status, 0);
    munmap(s, sizeof *s);
}

static time_t seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

static void copy_self(const char *name)
{
    static char bytes[8 << 20];
    int fd = open(self, O_RDONLY | O_CLOEXEC);
    ssize_t length = read(fd, bytes, sizeof bytes);
    assert_true(length > 0 && (size_t)length < sizeof bytes);
    close(fd);
    write_file(at(name), bytes, (size_t)length, 0755);
}

/* Makes files and folders of this user and of another, and symbolic links to the other user's. */
static void make_both(void)
{
    make_folder("mine", 0755);
    make_folder("theirs", 0755);
    copy_self("mine/hook");
    copy_self("theirs/hook");
    copy_self("theirs/foreign");
    assert_int_equal(symlink(at("theirs/foreign"), at("link")), 0);
    assert_int_equal(symlink("theirs", at("linked")), 0);
    give_away("theirs/hook");
    give_away("theirs/foreign");
    give_away("theirs");
}

static void race(const char *one, const char *other)
{
    char *const argv[] = {AS_PROGRAM, NULL};
    unsigned tries = 0, ran = 0, refusals = 0;
    struct shared *s;
    struct stat is;
    static struct text why;
    time_t end = seconds() + LONG_ENOUGH;
    start_swapping(&s, at(one), at(other));
    for (; tries < RACE || ran == 0 || refusals == 0 || atomic_load(&s->swaps) < RACE; tries++) {
        assert_true(seconds() < end);
        text_clear(&why);
        int fd = trusted_open(at("mine/hook"), &why);
        refusals += fd < 0;
        if (fd < 0)
            continue;
        assert_int_equal(fstat(fd, &is), 0);
        assert_int_equal(is.st_uid, geteuid());
        assert_int_equal(run(fd, argv), 0);
        ran++;
        close(fd);
    }
    print_message("%s for %s: swapped %u times, %u tries, %u refused, %u run\n", other, one,
                  atomic_load(&s->swaps), tries, refusals, ran);
    stop_swapping(s);
}

static void no_foreign_file_is_executed(void **state)
{
    (void)state;
    NEEDS_ROOT();
    make_both();
    race("mine/hook", "theirs/foreign");
}

static void no_file_in_a_foreign_folder(void **state)
{
    (void)state;
    NEEDS_ROOT();
    make_both();
    race("mine", "theirs");
}

static void no_file_behind_a_link(void **state)
{
    (void)state;
    NEEDS_ROOT();
    make_both();
    race("mine/hook", "link");
}

static void no_file_behind_a_link_to_a_folder(void **state)
{
    (void)state;
    NEEDS_ROOT();
    make_both();
    race("mine", "linked");
}

/* Shows that the races are real: a program that checks a path before opening it will sooner or
 * later open another user's file. */
static void a_check_before_opening_would_fail(void **state)
{
    struct shared *s;
    struct stat before, after = {.st_uid = geteuid()};
    time_t end = seconds() + LONG_ENOUGH;
    (void)state;
    NEEDS_ROOT();
    make_both();
    start_swapping(&s, at("mine/hook"), at("theirs/foreign"));
    while (after.st_uid == geteuid()) {
        assert_true(seconds() < end);
        if (lstat(at("mine/hook"), &before) != 0 || before.st_uid != geteuid())
            continue;
        int fd = open(at("mine/hook"), O_PATH | O_NOFOLLOW | O_CLOEXEC);
        assert_int_equal(fstat(fd, &after), 0);
        close(fd);
    }
    stop_swapping(s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(programs_of_ours_are_trusted),
        TEST(paths_are_absolute_and_plain),
        TEST(only_executable_files_are_programs),
        TEST(links_are_not_followed),
        TEST(no_other_user_may_write),
        TEST(no_other_user_may_own_it),
        TEST(sticky_folders_are_passed),
        TEST(no_other_file_system_in_a_sticky_folder),
        TEST(another_user_trusts_itself_and_root),
        TEST(scripts_have_an_interpreter),
        TEST(the_opened_program_is_executed),
        TEST(no_foreign_file_is_executed),
        TEST(no_file_in_a_foreign_folder),
        TEST(no_file_behind_a_link),
        TEST(no_file_behind_a_link_to_a_folder),
        TEST(a_check_before_opening_would_fail),
    };
    if (argc == 1 && strcmp(argv[0], AS_PROGRAM) == 0)
        return be_a_program();
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
