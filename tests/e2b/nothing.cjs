module.exports = {} // for what of Node.js a page has not and the client does not need there
