/* SPDX-License-Identifier: Apache-2.0 */
/* Where the models of the pipeline run: /dev/ai0, or ONNX Runtime in this process. */
#pragma once

#include <memory>
#include <span>
#include <string>

#include <ai/infer.h>
#include <ai/result.h>
#include <ai/shape.h>

namespace ai_ocr {

/* A model with one input and one output, both of 32-bit floats. */
class RunnerModel {
public:
    RunnerModel() = default;
    RunnerModel(const RunnerModel&) = delete;
    RunnerModel& operator=(const RunnerModel&) = delete;
    virtual ~RunnerModel() = default;

    /* Memory for an input of this shape, to be filled before run(). */
    virtual ai::Result<std::span<float>> input(const ai::Shape& shape) = 0;

    /* Valid until the next input(). */
    struct Output {
        std::span<const float> data;
        ai::Shape shape;
        ai::Record record;
    };
    virtual ai::Result<Output> run() = 0;
};

class Runner {
public:
    Runner() = default;
    Runner(const Runner&) = delete;
    Runner& operator=(const Runner&) = delete;
    virtual ~Runner() = default;

    virtual ai::Result<std::unique_ptr<RunnerModel>> load(const std::string& path) = 0;
};

} // namespace ai_ocr
