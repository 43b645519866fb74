/* The temporary folder of a demonstration, which is locked as long as the demonstration runs. */
#ifndef ELECT_DEMO_FOLDER_H
#define ELECT_DEMO_FOLDER_H

#include "../base/text.h"

/* A new one, for us alone, and its lock; -1, with a complaint and nothing left. `path` has `room`
 * bytes. */
int folder_make(char *path, size_t room, struct text *complaint);
/* With all that is in it. */
void folder_remove(const char *path);
/* Those of ours whose locks nobody holds: who made them could not clean up. */
void folder_clean_up(void);

#endif
