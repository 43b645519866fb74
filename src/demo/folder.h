/* The temporary folder of a demonstration. The folder is locked while the demonstration runs. */
#ifndef ELECT_DEMO_FOLDER_H
#define ELECT_DEMO_FOLDER_H

#include "../base/text.h"

/* Creates a folder that only this user may use. Writes its path to `path`, which has room for
 * `room` bytes. Returns the descriptor of its lock file. If this fails, removes everything, sets
 * `complaint` and returns -1. */
int folder_make(char *path, size_t room, struct text *complaint);
/* Removes the folder with all its files. */
void folder_remove(const char *path);
/* Removes the folders that this user's killed demonstrations have left behind. In such a folder,
 * the lock file is not locked. */
void folder_clean_up(void);

#endif
