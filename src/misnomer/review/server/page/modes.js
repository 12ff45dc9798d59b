// Ways to use the page. A mode says where rows come from, where decisions go, and what is not shown.
// Another mode is another entry here, and its addresses in answers.py; `about.mode` names the one to use.
export const modes = {
  review: {
    next: "/api/next", // the row to look at
    decide: "/api/decide", // where what was decided goes
    hidden: [], // ids of what this mode does not show
    deeds: ["accept", "keep", "choose", "unsure"], // what may be decided
  },
};
