/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Version of the firmware; the image tool takes it from here too.
 */
#pragma once

#include "ai_npu_abi.h"

#define AI0_FW_MAJOR 1
#define AI0_FW_MINOR 0
#define AI0_FW_PATCH 0

#define AI0_FW_VERSION NPU_FW_VERSION(AI0_FW_MAJOR, AI0_FW_MINOR, AI0_FW_PATCH)

#define AI0_FW_STRING_(x) #x
#define AI0_FW_STRING(x) AI0_FW_STRING_(x)
#define AI0_FW_VERSION_TEXT                                                                        \
    AI0_FW_STRING(AI0_FW_MAJOR) "." AI0_FW_STRING(AI0_FW_MINOR) "." AI0_FW_STRING(AI0_FW_PATCH)
