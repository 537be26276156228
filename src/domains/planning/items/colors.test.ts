import assert from "node:assert/strict";
import { test } from "node:test";
import { parseColor, textColorOn } from "./colors.ts";

test("a colour is six digits, three, or a name of CSS, in any case", () => {
  for (const [text, color] of [
    ["#D9534F", "#d9534f"],
    ["#AbC", "#aabbcc"],
    ["  #000 ", "#000000"],
    ["red", "#ff0000"],
    ["LightGoldenRodYellow", "#fafad2"],
    ["rebeccapurple", "#663399"],
  ] as const)
    assert.equal(parseColor(text), color, text);
});

test("nothing else is one", () => {
  const others = [
    ...["", "#", "#12", "#1234", "#12345", "#1234567", "#ggg", "d9534f", "#d9534f;", "#d9534f\n#000000", "##aabbcc"],
    ...["rgb(0,0,0)", "url(//x)", "reddish", "constructor", "red;color:blue", '#fff"><script>', "#１２３"],
    "#".repeat(100_000),
    `#${"a".repeat(100_000)}`,
  ];
  for (const text of others) assert.equal(parseColor(text), undefined, text.slice(0, 40));
});

test("text is light on dark colours and dark on light ones", () => {
  for (const color of ["#000000", "#1068bf", "#dd2b0e", "#0000ff", "#663399"])
    assert.equal(textColorOn(color), "#FFFFFF", color);
  for (const color of ["#ffffff", "#6699cc", "#ffff00", "#f0ad4e", "#00ff00", "#a8d695"])
    assert.equal(textColorOn(color), "#1F1E24", color);
});
