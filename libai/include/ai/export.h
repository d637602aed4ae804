/* SPDX-License-Identifier: Apache-2.0 */
/* Marks what the shared library shows to programs; all else is hidden. */
#pragma once

#define AI_EXPORT __attribute__((visibility("default")))
