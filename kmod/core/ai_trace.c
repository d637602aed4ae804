// SPDX-License-Identifier: GPL-2.0-only
/* Makes the trace events declared in ai_trace.h. */
#include "ai_internal.h"

#define CREATE_TRACE_POINTS
#include "ai_trace.h"
