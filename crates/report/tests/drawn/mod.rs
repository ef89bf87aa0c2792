//! What must hold of every drawing, whatever is in it.

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
