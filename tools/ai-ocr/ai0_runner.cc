/* SPDX-License-Identifier: Apache-2.0 */
#include "ai0_runner.h"

#include <cerrno>

#include <ai/ai.h>

namespace ai_ocr {

namespace {

class Ai0Model final : public RunnerModel {
public:
    Ai0Model(ai::Model model, ai::Nanoseconds timeout) : model_(std::move(model))
    {
        options_.timeout = timeout;
    }

    /*
     * The caller writes its pixels where the device reads them. One buffer serves all
     * inputs; a larger one takes its place when an input does not fit.
     */
    ai::Result<std::span<float>> input(const ai::Shape& shape) override
    {
        ai::Result<ai::Bytes> bytes = ai::tensor_bytes(ai::DType::kFloat32, shape);
        if (!bytes)
            return std::move(bytes).error();
        if (!buffer_ || buffer_->size() < *bytes) {
            ai::Result<std::shared_ptr<ai::Buffer>> buffer =
                ai::Buffer::allocate(model_.session(), *bytes);
            if (!buffer)
                return std::move(buffer).error();
            buffer_ = std::move(*buffer);
        }
        ai::Result<ai::Tensor> view =
            ai::Tensor::view(buffer_, ai::Bytes(0), ai::DType::kFloat32, shape);
        if (!view)
            return std::move(view).error();
        input_ = std::move(*view);
        return input_.span<float>();
    }

    ai::Result<Output> run() override
    {
        ai::Result<ai::Completion> done = ai::infer_into(model_, {&input_, 1}, outputs_, options_);
        if (!done)
            return std::move(done).error();
        return outputs_.front().span<float>().transform([&](std::span<float> data) {
            return Output{data, outputs_.front().shape(), std::move(done->record)};
        });
    }

private:
    ai::Model model_;
    ai::InferOptions options_;
    std::shared_ptr<ai::Buffer> buffer_;
    ai::Tensor input_;
    std::vector<ai::Tensor> outputs_;
};

} // namespace

Ai0Runner::Ai0Runner(ai::Session session, ai::DeviceId device, ai::Nanoseconds timeout)
    : session_(std::move(session)), device_(device), timeout_(timeout)
{
}

ai::Result<std::unique_ptr<Runner>> Ai0Runner::open(const std::string& device,
                                                    ai::Nanoseconds timeout)
{
    ai::DeviceId id = ai::kAnyDevice;
    ai::Result<ai::Session> session = ai::Session::open();

    if (!session)
        return std::move(session).error();
    if (device != "any") {
        ai::Result<ai::Device> found = session->device(device);
        if (!found)
            return std::move(found).error();
        id = found->id;
    }
    return std::unique_ptr<Runner>(new Ai0Runner(std::move(*session), id, timeout));
}

ai::Result<std::unique_ptr<RunnerModel>> Ai0Runner::load(const std::string& path)
{
    ai::LoadOptions options;

    options.device = device_;
    options.timeout = timeout_;
    ai::Result<ai::Model> model = ai::Model::load_file(session_, path, options);
    if (!model)
        return std::move(model).error();
    if (model->inputs().size() != 1 || model->outputs().size() != 1 ||
        model->inputs().front().dtype != ai::DType::kFloat32 ||
        model->outputs().front().dtype != ai::DType::kFloat32)
        return ai::Error{EINVAL, path + " is not a model of PP-OCR: one input and one output of "
                                        "float32 are needed"};
    return std::unique_ptr<RunnerModel>(std::make_unique<Ai0Model>(std::move(*model), timeout_));
}

} // namespace ai_ocr
