/* What must hold, and what a process has open; for programs with any declarations of the interface. */
#ifndef REQUIRE_H
#define REQUIRE_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static inline int count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;

    REQUIRE(folder != NULL);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

#endif
