// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the compiler calls by itself in a freestanding program.
 */
extern "C" {

void* memcpy(void* to, const void* from, unsigned long bytes)
{
    char* t = static_cast<char*>(to);
    const char* f = static_cast<const char*>(from);

    for (unsigned long i = 0; i < bytes; i++)
        t[i] = f[i];
    return to;
}

void* memset(void* to, int value, unsigned long bytes)
{
    char* t = static_cast<char*>(to);

    for (unsigned long i = 0; i < bytes; i++)
        t[i] = static_cast<char>(value);
    return to;
}
}
