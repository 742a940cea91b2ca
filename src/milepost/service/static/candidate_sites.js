/** Candidate sites of one release: points, names and answers. The tab stores them. */

export class CandidateSites extends EventTarget {
  constructor(release) {
    super();
    this.storageKey = `milepost.sites.${release.id}`;
    /** @type {{id: number, letter: string, name: string, point: number[], value?: number, error?: number}[]} */
    this.all = [];
    try {
      const stored = JSON.parse(sessionStorage.getItem(this.storageKey) ?? "[]");
      for (const { name, point } of stored) this.#append(point, name);
    } catch {
      sessionStorage.removeItem(this.storageKey);
    }
  }

  #append(point, name) {
    const used = new Set(this.all.map((site) => site.letter));
    const letter = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"].find((candidate) => !used.has(candidate)) ?? "•";
    const id = 1 + Math.max(0, ...this.all.map((site) => site.id));
    const site = { id, letter, name: name || `Site ${letter}`, point };
    this.all.push(site);
    return site;
  }

  /** Add a site. */
  add(point, name = "") {
    const site = this.#append(point, name);
    this.#changed("points");
    return site;
  }

  move(site, point) {
    site.point = point;
    this.#changed("points");
  }

  rename(site, name) {
    site.name = name.trim() || `Site ${site.letter}`;
    this.#changed("names");
  }

  remove(site) {
    this.all = this.all.filter((other) => other !== site);
    this.#changed("points");
  }

  /** Set the answers of sites. A site that has moved since keeps this answer until the next one. */
  setAnswers(sites, values, errors, joint) {
    sites.forEach((site, index) =>
      Object.assign(site, { value: values[index], error: errors[index], joint: joint[index] }),
    );
    this.#changed("answers");
  }

  /** Request new answers, for example for another group. */
  refresh() {
    this.#changed("points");
  }

  /** Return the sites with an answer, the nearest first. */
  ranked() {
    return this.all.filter((site) => site.value !== undefined).sort((one, other) => one.value - other.value);
  }

  /** Return whether noise may explain the difference: the joint intervals of the two sites overlap. */
  static tied(first, site) {
    return site.value - site.joint <= first.value + first.joint;
  }

  #changed(change) {
    sessionStorage.setItem(this.storageKey, JSON.stringify(this.all.map(({ name, point }) => ({ name, point }))));
    this.dispatchEvent(new CustomEvent("change", { detail: change }));
  }
}
