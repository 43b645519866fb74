/* The temporary folder of a demonstration. The folder is locked while the demonstration runs. */
#ifndef ELECT_DEMO_FOLDER_H
#define ELECT_DEMO_FOLDER_H

#include "../base/text.h"

/* Makes a folder that only this user may use, and writes its path to `path`, which has `room`
 * bytes. Returns the descriptor of its lock. If this fails, removes everything and returns -1 with
 * a complaint. */
int folder_make(char *path, size_t room, struct text *complaint);
/* Removes the folder with all its files. */
void folder_remove(const char *path);
/* Removes the folders of this user that killed demonstrations left behind. The locks of such
 * folders are free. */
void folder_clean_up(void);

#endif
