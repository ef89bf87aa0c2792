//! What must hold of every drawing, whatever is in it.

#![allow(dead_code, reason = "each test looks at some of it")]

/// Every SVG element of a page.
pub(crate) fn svgs_of(page: &str) -> Vec<&str> {
    let mut svgs = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find("<svg") {
        let end = rest[start..].find("</svg>").expect("an svg ends") + start + "</svg>".len();
        svgs.push(&rest[start..end]);
        rest = &rest[end..];
    }
    svgs
}

/// Panics unless the drawing is well-formed XML, has words, and all of it lies inside its view box.
pub(crate) fn assert_sound(svg: &str) {
    let document = roxmltree::Document::parse(svg).unwrap_or_else(|why| panic!("{why}: {svg}"));
    let root = document.root_element();
    assert_eq!(root.attribute("role"), Some("img"));
    let view: Vec<f64> =
        root.attribute("viewBox").unwrap().split(' ').map(|part| part.parse().unwrap()).collect();
    let (width, height) = (view[2], view[3]);
    let inside = |x: f64, y: f64| {
        let near = -0.11;
        assert!(x.is_finite() && y.is_finite() && x >= near && y >= near, "{x}, {y} in {svg}");
        assert!(x <= width - near && y <= height - near, "{x}, {y} leaves {width} by {height}: {svg}");
    };
    for name in ["title", "desc"] {
        let words = root.children().find(|child| child.has_tag_name(("http://www.w3.org/2000/svg", name)));
        assert!(
            words.is_some_and(|words| words.text().is_some_and(|text| !text.is_empty())),
            "{name}: {svg}"
        );
    }
    for element in root.descendants().filter(roxmltree::Node::is_element) {
        let number = |name: &str| element.attribute(name).map(|value| value.parse::<f64>().unwrap());
        match element.tag_name().name() {
            "path" => points(element.attribute("d").unwrap()).into_iter().for_each(|(x, y)| inside(x, y)),
            "text" => inside(number("x").unwrap(), number("y").unwrap()),
            "rect" => {
                let (x, y) = (number("x").unwrap_or(0.0), number("y").unwrap_or(0.0));
                inside(x, y);
                inside(x + number("width").unwrap(), y + number("height").unwrap());
            }
            "svg" | "title" | "desc" | "style" => {}
            other => panic!("an element that nobody draws: {other}"),
        }
    }
    for mark in root.attribute("data-marks").unwrap_or_default().split(' ').filter(|mark| !mark.is_empty()) {
        let (x, y) = mark.split_once(',').expect("x,y");
        inside(x.parse().unwrap(), y.parse().unwrap());
    }
}

/// The ends of all segments; a full circle by its four extremes.
fn points(data: &str) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    let mut at = (0.0, 0.0);
    let starts: Vec<usize> = data
        .char_indices()
        .filter(|(_, sign)| matches!(sign, 'M' | 'L' | 'a' | 'Z'))
        .map(|(index, _)| index)
        .collect();
    for (index, &start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(data.len());
        let numbers: Vec<f64> =
            data[start + 1..end].split_whitespace().map(|number| number.parse().unwrap()).collect();
        match &data[start..=start] {
            "M" | "L" => {
                at = (numbers[0], numbers[1]);
                points.push(at);
            }
            "a" => {
                let radius = numbers[0];
                let middle = at.0 + numbers[5] / 2.0;
                points.extend([(middle, at.1 - radius), (middle, at.1 + radius)]);
                at.0 += numbers[5];
                points.push(at);
            }
            _ => {}
        }
    }
    points
}

/// A plot of a page as a reader meets it.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) caption: String,
    pub(crate) heads: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// Every plot of a page.
pub(crate) fn figures_of(page: &str) -> Vec<Figure> {
    let all = |text: &str, open: &str, close: &str| -> Vec<String> {
        let parts = text.split(open).skip(1);
        parts.filter_map(|part| Some(part.split_once(close)?.0.to_owned())).collect()
    };
    let one = |text: &str, open, close| all(text, open, close).first().cloned().unwrap_or_default();
    page.split("<figure data-plot=\"")
        .skip(1)
        .map(|figure| {
            let figure = figure.split("</figure>").next().unwrap_or_default();
            let table = figure.split("<tbody>").nth(1).unwrap_or_default();
            Figure {
                name: figure.split('"').next().unwrap_or_default().to_owned(),
                title: one(figure, "<h2>", "</h2>"),
                caption: one(figure, "<figcaption>", "</figcaption>"),
                heads: all(figure, "<th scope=\"col\">", "</th>"),
                rows: table.split("<tr").skip(1).map(|row| all(row, "<td>", "</td>")).collect(),
            }
        })
        .collect()
}

impl Figure {
    /// The sum of a column of counts.
    pub(crate) fn sum_of(&self, head: &str) -> u64 {
        let column = self.heads.iter().position(|known| known == head).expect("the column is there");
        let count = |cell: &String| cell.replace('\u{202f}', "").parse::<u64>().expect("a count");
        self.rows.iter().map(|row| count(&row[column])).fold(0, u64::saturating_add)
    }

    /// Panics unless what a title of loads or delays says is in the numbers of its own plot.
    pub(crate) fn assert_title_is_of_its_rows(&self) {
        let cell = |said: &str| self.rows.iter().flatten().any(|cell| cell == said);
        match self.name.as_str() {
            "delay" => {
                let Some((before, after)) =
                    [" takes ", " take ", " late by "].iter().find_map(|verb| self.title.split_once(verb))
                else {
                    return;
                };
                let value = after.trim_end_matches(" or more");
                let percentile = [("in 1000", "99.9"), ("in 100", "99"), ("alf the ", "50")]
                    .into_iter()
                    .find(|(words, _)| before.contains(words))
                    .map(|(_, percentile)| percentile);
                let is_it = |row: &&Vec<String>| {
                    let share = row[1].split(" of ").next().unwrap_or_default();
                    let place =
                        before.contains(&row[0]) || before.contains(&format!("At {share} of the load"));
                    let goal = row[1].split_once(" of ").is_none_or(|(_, goal)| before.contains(goal));
                    let said = !before.contains("At ") || place && goal;
                    row[4] == value && Some(row[3].as_str()) == percentile && said
                };
                assert!(self.rows.iter().any(|row| is_it(&row)), "{self:?}");
            }
            "loss" => {
                let here = self.title.split(';').next().unwrap_or_default();
                let digits = |word: &&str| word.starts_with(|letter: char| letter.is_ascii_digit());
                for load in here.split([' ', '\u{a0}', ',']).filter(digits) {
                    assert!(cell(load), "{load}: {self:?}");
                }
            }
            _ => {}
        }
    }
}
