/* The temporary folder of a demonstration, which is locked as long as the demonstration runs. */
#ifndef ELECT_DEMO_FOLDER_H
#define ELECT_DEMO_FOLDER_H

#include "../base/text.h"

/* Makes a folder that only this user may use, and writes its path to `path`, which has `room`
 * bytes. Returns the descriptor of its lock; -1, with a complaint and without leaving anything
 * behind, if that fails. */
int folder_make(char *path, size_t room, struct text *complaint);
/* Removes the folder and all that it contains. */
void folder_remove(const char *path);
/* Removes the folders of this user whose locks are free: their demonstrations have been killed. */
void folder_clean_up(void);

#endif
