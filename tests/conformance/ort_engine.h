/* SPDX-License-Identifier: Apache-2.0 */
/* Cases in ONNX Runtime, directly on the host: what the device is measured against. */
#pragma once

#include <onnxruntime_cxx_api.h>

#include "engine.h"

class OrtEngine final : public ai_run::Engine {
public:
    OrtEngine();

    ai::Result<std::unique_ptr<Model>> load(const std::string& path) override;

private:
    Ort::Env env_;
};
