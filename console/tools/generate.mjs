// SPDX-License-Identifier: GPL-2.0-or-later
// Types of every endpoint, made from the interface's own description: what the console sends and reads
// cannot drift from it without the type checker noticing.
//
// OPENAPI names the description; src/lib/schema.d.ts is made.

import fs from 'node:fs'
import { pathToFileURL } from 'node:url'
import openapi, { astToString } from 'openapi-typescript'

const source = process.env.OPENAPI ?? '../conf/openapi.json'
const tree = await openapi(pathToFileURL(source), {
  alphabetize: true,
  // A member with a default may be left out of a request.
  defaultNonNullable: false,
})
fs.writeFileSync('src/lib/schema.d.ts', `// Made from ${source.split('/').pop()}; not for editing.\n${astToString(tree)}`)
