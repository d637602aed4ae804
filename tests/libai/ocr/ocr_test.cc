/* SPDX-License-Identifier: Apache-2.0 */
/* What ai-ocr does before and after its models. */
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <opencv2/imgproc.hpp>

#include "ctc.h"
#include "detector.h"
#include "painter.h"
#include "pipeline.h"
#include "planes.h"
#include "recogniser.h"

namespace {

using ai_ocr::Quad;

Quad box_at(float x, float y, float width, float height)
{
    return {cv::Point2f(x, y), cv::Point2f(x + width, y), cv::Point2f(x + width, y + height),
            cv::Point2f(x, y + height)};
}

class Boxes : public testing::Test {
protected:
    cv::Mat probability = cv::Mat::zeros(320, 640, CV_32FC1);
    ai_ocr::DetectorOptions options;

    void paint(cv::RotatedRect rect, float value)
    {
        cv::Point2f corners[4];
        rect.points(corners);
        std::vector<cv::Point> points(corners, corners + 4);
        cv::fillConvexPoly(probability, points, cv::Scalar(value));
    }

    std::vector<Quad> found(cv::Size picture = {640, 320})
    {
        return ai_ocr::find_boxes(probability, picture, options);
    }
};

TEST_F(Boxes, NoneInNothing)
{
    EXPECT_TRUE(found().empty());
}

TEST_F(Boxes, GrowByTheUnclipRatio)
{
    paint({{320, 160}, {200, 20}, 0}, 0.9F);
    auto boxes = found();

    ASSERT_EQ(boxes.size(), 1U);
    /* area * ratio / length: 4000 * 1.5 / 440 on each side */
    double grow = 200.0 * 20 * 1.5 / 440;
    EXPECT_NEAR(boxes[0][0].x, 220 - grow, 2);
    EXPECT_NEAR(boxes[0][0].y, 150 - grow, 2);
    EXPECT_NEAR(boxes[0][2].x, 420 + grow, 2);
    EXPECT_NEAR(boxes[0][2].y, 170 + grow, 2);
}

TEST_F(Boxes, KeepTheirAngle)
{
    paint({{320, 160}, {200, 20}, 15}, 0.9F);
    auto boxes = found();

    ASSERT_EQ(boxes.size(), 1U);
    cv::Point2f along = boxes[0][1] - boxes[0][0];
    EXPECT_NEAR(std::atan2(along.y, along.x) * 180 / CV_PI, 15, 1.5);
}

TEST_F(Boxes, AreScaledToThePicture)
{
    paint({{320, 160}, {200, 20}, 0}, 0.9F);
    auto boxes = found({1280, 960});

    ASSERT_EQ(boxes.size(), 1U);
    EXPECT_NEAR((boxes[0][0].x + boxes[0][2].x) / 2, 640, 4);
    EXPECT_NEAR((boxes[0][0].y + boxes[0][2].y) / 2, 480, 6);
}

TEST_F(Boxes, StayInsideThePicture)
{
    paint({{30, 8}, {100, 20}, 0}, 0.9F);

    for (const Quad& box : found())
        for (const cv::Point2f& corner : box) {
            EXPECT_GE(corner.x, 0);
            EXPECT_GE(corner.y, 0);
        }
}

TEST_F(Boxes, LeaveOutTheUnlikelyAndTheTiny)
{
    paint({{100, 100}, {100, 20}, 0}, 0.5F); /* mean below 0.6 */
    paint({{400, 100}, {100, 20}, 0}, 0.2F); /* no pixel above 0.3 */
    paint({{400, 250}, {2, 2}, 0}, 0.99F);

    EXPECT_TRUE(found().empty());
}

TEST_F(Boxes, AreNotMoreThanAsked)
{
    for (int i = 0; i < 6; i++)
        paint({{100, static_cast<float>(30 + 50 * i)}, {100, 16}, 0}, 0.9F);
    options.most_boxes = 4;

    EXPECT_EQ(found().size(), 4U);
}

TEST_F(Boxes, SurviveNoise)
{
    cv::RNG random(1);
    random.fill(probability, cv::RNG::UNIFORM, 0, 1);

    EXPECT_NO_THROW(found());
    probability = cv::Scalar(std::nan(""));
    EXPECT_NO_THROW(found());
    probability = cv::Scalar(1);
    EXPECT_EQ(found().size(), 1U);
}

TEST(ReadingOrder, IsRowsThenColumns)
{
    std::vector<Quad> quads{box_at(300, 104, 80, 20), box_at(10, 200, 80, 20),
                            box_at(10, 100, 80, 20), box_at(150, 97, 80, 20),
                            box_at(300, 10, 80, 20)};
    ai_ocr::sort_for_reading(quads);
    std::vector<float> x(quads.size());
    std::ranges::transform(quads, x.begin(), [](const Quad& quad) { return quad[0].x; });

    EXPECT_THAT(x, testing::ElementsAre(300, 10, 150, 300, 10));
    EXPECT_EQ(quads[4][0].y, 200);
}

TEST(Quad, BeginsAtTheUpperLeft)
{
    Quad quad = ai_ocr::clockwise({{100, 50}, {80, 20}, 10});

    EXPECT_LT(quad[0].x, quad[1].x);
    EXPECT_LT(quad[0].y, quad[3].y);
    EXPECT_GT(quad[2].x, quad[3].x);
}

TEST(CutOut, TurnsWhatIsTall)
{
    cv::Mat picture = cv::Mat::zeros(200, 200, CV_8UC3);
    picture.rowRange(0, 60) = cv::Scalar(255, 255, 255); /* the upper end of the box */
    cv::Mat line = ai_ocr::cut_out(picture, box_at(20, 20, 30, 120));

    EXPECT_EQ(line.size(), cv::Size(120, 30));
    EXPECT_EQ(line.at<cv::Vec3b>(15, 5)[0], 255); /* is at the left now */
    EXPECT_EQ(line.at<cv::Vec3b>(15, 115)[0], 0);
    EXPECT_EQ(ai_ocr::cut_out(picture, box_at(20, 20, 120, 30)).size(), cv::Size(120, 30));
}

TEST(DetectorSize, IsAMultipleOf32)
{
    ai_ocr::DetectorOptions options;

    EXPECT_EQ(ai_ocr::detector_size({640, 480}, options), cv::Size(640, 480));
    EXPECT_EQ(ai_ocr::detector_size({4096, 2048}, options), cv::Size(960, 480));
    EXPECT_EQ(ai_ocr::detector_size({100, 50}, options), cv::Size(96, 64));
    EXPECT_EQ(ai_ocr::detector_size({1, 1}, options), cv::Size(32, 32));
    EXPECT_EQ(ai_ocr::detector_size({4096, 1}, options), cv::Size(960, 32));
}

TEST(RecogniserSize, KeepsTheRatio)
{
    EXPECT_EQ(ai_ocr::recogniser_size({200, 20}).padded, 480);
    EXPECT_EQ(ai_ocr::recogniser_size({200, 20}).picture, cv::Size(480, 48));
    EXPECT_EQ(ai_ocr::recogniser_size({48, 48}).padded, 320);
    EXPECT_EQ(ai_ocr::recogniser_size({48, 48}).picture.width, 48);
    EXPECT_EQ(ai_ocr::recogniser_size({1, 500}).picture.width, 1);
}

TEST(Planes, AreNormalisedAndPadded)
{
    cv::Mat picture(1, 2, CV_8UC3);
    picture.at<cv::Vec3b>(0, 0) = {0, 255, 51};
    picture.at<cv::Vec3b>(0, 1) = {255, 0, 51};
    std::vector<float> planes(9, 7);
    ai_ocr::to_planes(picture, {0.5F, 0.5F, 0}, {0.5F, 0.5F, 1}, planes, 3);
    using testing::FloatNear;

    EXPECT_THAT(planes, testing::ElementsAre(FloatNear(-1, 1e-6F), FloatNear(1, 1e-6F), 0,
                                             FloatNear(1, 1e-6F), FloatNear(-1, 1e-6F), 0,
                                             FloatNear(0.2F, 1e-6F), FloatNear(0.2F, 1e-6F), 0));
}

/* Rows of probabilities where one class of each is likely. */
std::vector<float> steps(std::vector<std::size_t> classes, std::size_t count, float value)
{
    std::vector<float> rows(classes.size() * count, 0.01F);
    for (std::size_t i = 0; i < classes.size(); i++)
        rows[i * count + classes[i]] = value;
    return rows;
}

TEST(Ctc, DropsBlanksAndRepetitions)
{
    ai_ocr::Alphabet alphabet({"a", "b", "\xe4\xb8\xad"}); /* then a space: 5 classes */

    EXPECT_EQ(alphabet.classes(), 5U);
    EXPECT_EQ(ai_ocr::decode_greedily(steps({1, 1, 0, 1, 2, 2, 4, 3}, 5, 0.9F), alphabet).text,
              "aab \xe4\xb8\xad");
    EXPECT_EQ(ai_ocr::decode_greedily(steps({0, 0, 0}, 5, 0.9F), alphabet).text, "");
    EXPECT_EQ(ai_ocr::decode_greedily({}, alphabet).text, "");
}

TEST(Ctc, ConfidenceIsTheMeanOfWhatCounts)
{
    ai_ocr::Alphabet alphabet({"a", "b"});
    std::vector<float> rows = steps({1, 0, 2}, 4, 0.5F);
    rows[4] = 0.99F; /* the blank does not count */
    rows[10] = 0.7F;

    EXPECT_NEAR(ai_ocr::decode_greedily(rows, alphabet).confidence, 0.6, 1e-6);
    EXPECT_EQ(ai_ocr::decode_greedily(steps({0}, 4, 0.9F), alphabet).confidence, 0);
}

TEST(Ctc, BlankIsWhatHoldsSpacesAlone)
{
    for (const char* blank : {"", " ", "   ", "\xe3\x80\x80", " \xe3\x80\x80 "})
        EXPECT_TRUE(ai_ocr::is_blank(blank)) << blank;
    for (const char* text : {"a", " a", "\xe3\x80\x80\xe4\xb8\xad", "\xe3\x80\x81", "."})
        EXPECT_FALSE(ai_ocr::is_blank(text)) << text;
}

/* The detection model sees one box, the recognition model reads the given classes in it. */
class FakeModel final : public ai_ocr::RunnerModel {
public:
    explicit FakeModel(std::vector<float> rows) : rows_(std::move(rows)) {}

    ai::Result<std::span<float>> input(const ai::Shape& shape) override
    {
        shape_ = shape;
        input_.assign(shape.elements().value(), 0);
        return std::span(input_);
    }

    ai::Result<Output> run() override
    {
        if (!rows_.empty())
            return Output{rows_, ai::Shape(1, rows_.size() / 4, 4), {}};
        auto height = static_cast<int>(shape_[2]);
        auto width = static_cast<int>(shape_[3]);
        map_ = cv::Mat::zeros(height, width, CV_32FC1);
        map_(cv::Rect(width / 4, height / 4, width / 2, height / 4)) = 0.9F;
        return Output{{map_.ptr<float>(), map_.total()}, ai::Shape(1, 1, shape_[2], shape_[3]), {}};
    }

private:
    std::vector<float> rows_;
    std::vector<float> input_;
    ai::Shape shape_;
    cv::Mat map_;
};

class FakeRunner final : public ai_ocr::Runner {
public:
    explicit FakeRunner(std::vector<std::size_t> classes) : classes_(std::move(classes)) {}

    ai::Result<std::unique_ptr<ai_ocr::RunnerModel>> load(const std::string& path) override
    {
        return std::unique_ptr<ai_ocr::RunnerModel>(std::make_unique<FakeModel>(
            path.ends_with("rec_infer.onnx") ? steps(classes_, 4, 0.9F) : std::vector<float>()));
    }

private:
    std::vector<std::size_t> classes_;
};

std::vector<std::string> read_with(std::vector<std::size_t> classes)
{
    std::filesystem::path folder = testing::TempDir() + "ocr_test_models";
    std::vector<std::string> lines;

    std::filesystem::create_directories(folder);
    for (const char* name : {"ch_PP-OCRv4_det_infer.onnx", "ch_PP-OCRv4_rec_infer.onnx"})
        std::ofstream(folder / name) << '\n';
    std::ofstream(folder / "ppocr_keys_v1.txt") << "a\n\xe3\x80\x80\n"; /* then a space */
    FakeRunner runner(std::move(classes));
    auto pipeline = ai_ocr::Pipeline::load(runner, folder).or_throw();
    ai_ocr::Page page = pipeline->read(cv::Mat::zeros(64, 320, CV_8UC3), 0.5F).or_throw();
    std::filesystem::remove_all(folder);
    EXPECT_EQ(page.steps.size(), 2U); /* the line was looked at */
    for (const ai_ocr::Line& line : page.lines)
        lines.push_back(line.text.text);
    return lines;
}

TEST(Pipeline, LeavesOutBlankLines)
{
    using testing::ElementsAre;
    using testing::IsEmpty;

    EXPECT_THAT(read_with({3, 1, 3}), ElementsAre(" a "));
    EXPECT_THAT(read_with({0, 0}), IsEmpty());
    EXPECT_THAT(read_with({3, 0, 3}), IsEmpty());
    EXPECT_THAT(read_with({2, 3}), IsEmpty());
}

TEST(Alphabet, IsReadFromAFile)
{
    EXPECT_FALSE(ai_ocr::Alphabet::read("/nowhere/keys.txt"));
}

TEST(CodePoints, OfGoodAndBadText)
{
    EXPECT_EQ(ai_ocr::code_points("a\xc3\xa4\xe4\xb8\xad\xf0\x9f\x98\x80"), U"aä中😀");
    EXPECT_EQ(ai_ocr::code_points("\xe4\xb8"), U"\xfffd\xfffd");
    EXPECT_EQ(ai_ocr::code_points("\xff"
                                  "a"),
              U"\xfffd"
              "a");
}

} // namespace
