/* The demonstration's temporary folder, locked while the demonstration runs. */
#ifndef ELECT_DEMO_FOLDER_H
#define ELECT_DEMO_FOLDER_H

#include "../base/text.h"

/* Creates a private folder and writes its path to `path`, which has `room` bytes. Returns the
 * descriptor of its lock file. On failure, removes everything, sets `complaint` and returns -1. */
int folder_make(char *path, size_t room, struct text *complaint);
void folder_remove(const char *path);
/* Removes folders left behind by this user's killed demonstrations, recognised by their unlocked
 * lock files. */
void folder_clean_up(void);

#endif
