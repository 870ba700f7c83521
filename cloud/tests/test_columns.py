"""Tables of text."""

from tickpath_cloud.columns import table


def test_columns_are_as_wide_as_their_cells():
    """A host named by EC2 has 38 characters and its column had 24: the figures stood elsewhere."""
    host = "ip-10-64-0-11.eu-west-1.compute.internal"
    lines = table(("host", "p50 us", "why"), [["a", "1.00", "x"], [host, "100.00", ""]], ("why",))
    assert lines == [
        f"{'host':<{len(host)}}  p50 us  why",
        f"{'a':<{len(host)}}    1.00  x",
        f"{host}  100.00",
    ]


def test_a_reason_widens_no_column_and_is_not_wrapped():
    why = "FAILED: " + "long " * 300
    lines = table(("a", "b", "c"), [["1", "2", "3"], ["one", why]])
    assert lines == ["a    b  c", "1    2  3", f"one  {why}"]


def test_cells_are_text_and_no_markup():
    assert table(("a",), [["[red]x[/red] :smile: 1"]])[1] == "[red]x[/red] :smile: 1"
