/* Passes each file of a folder to the fuzz target, so that tests can run the target without a
 * fuzzer. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static int replay(const char *path)
{
    static uint8_t bytes[1 << 20];
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        perror(path);
        return 1;
    }
    size_t length = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    /* exact size, so that a sanitizer detects reads beyond the end */
    uint8_t *exact = malloc(length + 1);
    for (size_t k = 0; exact != NULL && k < length; k++)
        exact[k] = bytes[k];
    LLVMFuzzerTestOneInput(exact, length);
    free(exact);
    return 0;
}

int main(int argc, char **argv)
{
    struct dirent **names;
    int count = argc == 2 ? scandir(argv[1], &names, NULL, alphasort) : -1, failed = 0;
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", argv[1], names[i]->d_name);
        failed += names[i]->d_name[0] != '.' ? replay(path) : 0;
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    printf("%d inputs\n", count - 2);
    return count < 10 || failed > 0;
}
