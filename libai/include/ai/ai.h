/* SPDX-License-Identifier: Apache-2.0 */
/* All of libai. */
#pragma once

#include <ai/buffer.h>
#include <ai/contract.h>
#include <ai/device.h>
#include <ai/dtype.h>
#include <ai/dump.h>
#include <ai/error.h>
#include <ai/export.h>
#include <ai/infer.h>
#include <ai/model.h>
#include <ai/result.h>
#include <ai/session.h>
#include <ai/shape.h>
#include <ai/syscalls.h>
#include <ai/tensor.h>
#include <ai/terms.h>
#include <ai/types.h>
#include <ai/unique_fd.h>
#include <ai/units.h>
#include <ai/version.h>
