/* SPDX-License-Identifier: Apache-2.0 */
/* Marks what the shared library shows to programs; all else is hidden. */
#pragma once

#define LIBAI_API __attribute__((visibility("default")))
