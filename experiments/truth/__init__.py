"""Are the library's statements true? Every probability and interval against data that it has not seen."""
