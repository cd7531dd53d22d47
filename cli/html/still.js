/* still: a page of one document, which it holds. */
hk.page.start(JSON.parse(document.getElementById("data").textContent));
