/* SPDX-License-Identifier: Apache-2.0 */
/* Models in ONNX Runtime in this process: the reference for what the device reads. */
#pragma once

#include "runner.h"

namespace ai_ocr {

/* ENOENT when the library of ONNX Runtime, loaded only here, is not to be found. */
ai::Result<std::unique_ptr<Runner>> open_host_runner();

} // namespace ai_ocr
