//! Prints the JSON Schema of a record's lines, as it is shipped in `schema/`.

fn main() {
    print!("{}", dropline_record::schema::line_schema());
}
