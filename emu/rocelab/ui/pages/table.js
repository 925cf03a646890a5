// Tables that sort by a click on a column's head, and of which columns can be hidden.
import { button, h, put } from "./dom.js";

/**
 * columns: {key, title, show(row) -> text or node, left, help}. `sort`: {key, descending}; `onsort` is told instead of sorting here, `onorder` besides.
 * `onpick(row)` makes the first cell a button. `compare(key)` -> value of a row to sort by; default row[key].
 */
export function table({ caption, columns, rows, sort, onsort, onorder, onpick, picked, value = (row, key) => row[key] }) {
  const body = h("tbody");
  const head = h("thead");
  const element = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, h("table", {}, h("caption", {}, caption), head, body));
  let order = sort ?? { key: null, descending: false };
  let current = rows;
  let chosen = picked;

  function draw() {
    put(head, h("tr", {}, columns.map(headCell)));
    if (!onsort && order.key) current = [...current].sort(by(order, value));
    drawRows();
  }

  function drawRows() {
    put(body, current.map(drawRow));
  }

  /** Rows in the places of those that are drawn; further ones follow. */
  function inPlace(rows) {
    const places = new Map(current.map((row, i) => [row[columns[0].key], i]));
    const place = (row) => places.get(row[columns[0].key]) ?? current.length;
    return [...rows].sort((a, b) => place(a) - place(b));
  }

  function headCell(column) {
    const mine = order.key === column.key;
    const direction = mine ? (order.descending ? "descending" : "ascending") : null;
    const arrow = mine ? (order.descending ? " ▾" : " ▴") : "";
    return h(
      "th",
      { scope: "col", class: column.left ? "left" : "", "aria-sort": direction, title: column.help },
      column.fixed ? column.title : button(column.title + arrow, () => resort(column)),
    );
  }

  function resort(column) {
    order = { key: column.key, descending: order.key === column.key ? !order.descending : !column.left };
    onsort?.(order);
    onorder?.(order);
    draw();
    // The focus stays on the head that was pressed.
    head.querySelectorAll("th")[columns.indexOf(column)].querySelector("button").focus();
  }

  function drawRow(row) {
    const cells = columns.map((column, i) => {
      const shown = column.show ? column.show(row) : (row[column.key] ?? "–");
      const content = i === 0 && onpick ? button(shown, () => onpick(row), { class: "pick" }) : shown;
      return h(i === 0 ? "th" : "td", { scope: i === 0 ? "row" : null, class: column.left || i === 0 ? "left" : "" }, content);
    });
    return h("tr", { "aria-current": chosen !== undefined && chosen === row[columns[0].key] ? "true" : null }, cells);
  }

  draw();
  return {
    element,
    set(next) {
      current = next;
      draw();
    },
    /** New values of the rows. A row that is pointed at or has the focus is not moved away: then all keep their places. */
    renew(next) {
      if (!element.matches(":hover, :focus-within")) return this.set(next);
      current = inPlace(next);
      drawRows();
    },
    pick(key) {
      chosen = key;
      drawRows();
    },
  };
}

/** Missing values come last either way. */
export function by({ key, descending }, value = (row, k) => row[k]) {
  return (a, b) => {
    const [x, y] = [value(a, key), value(b, key)];
    if (x === null || x === undefined) return y === null || y === undefined ? 0 : 1;
    if (y === null || y === undefined) return -1;
    const order = typeof x === "string" ? x.localeCompare(y, undefined, { numeric: true }) : x - y;
    return descending ? -order : order;
  };
}
