// Runs an ONNX model in ONNX Runtime on given or seeded inputs and writes every input and output as .npy, to be compared with
// what Systole computes. Called by scripts/onnxruntime_compare, which provides the runtime.
import fs from 'node:fs';
import path from 'node:path';
import {createRequire} from 'node:module';

const usage = `onnxruntime_compare MODEL FOLDER [--input NAME=FILE.npy]... [--dim NAME=VALUE]... [--seed N] [--optimise]
Writes FOLDER/in_I.npy and FOLDER/out_I.npy in the model's order and FOLDER/names.json.
--dim also takes NAME:AXIS for extents without a name, and NAME=VALUE for scalar integer inputs.`;

const codes = {float32: ['<f4', Float32Array], float64: ['<f8', Float64Array], float16: ['<f2', Uint16Array],
               int64: ['<i8', BigInt64Array], int32: ['<i4', Int32Array], int16: ['<i2', Int16Array],
               int8: ['|i1', Int8Array], uint64: ['<u8', BigUint64Array], uint32: ['<u4', Uint32Array],
               uint16: ['<u2', Uint16Array], uint8: ['|u1', Uint8Array], bool: ['|b1', Uint8Array]};

function writeNpy(file, type, dims, data) {
  const [descr] = codes[type];
  const shape = dims.length === 1 ? `(${dims[0]},)` : `(${dims.join(', ')})`;
  let header = `{'descr': '${descr}', 'fortran_order': False, 'shape': ${shape}, }`;
  header += ' '.repeat(63 - (10 + header.length) % 64) + '\n';
  const lead = Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, header.length & 255, header.length >> 8]);
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  fs.writeFileSync(file, Buffer.concat([lead, Buffer.from(header, 'latin1'), bytes]));
}

function readNpy(file) {
  const bytes = fs.readFileSync(file);
  const size = bytes.readUInt16LE(8);
  const header = bytes.toString('latin1', 10, 10 + size);
  const descr = /'descr': '([^']*)'/.exec(header)[1];
  const type = Object.keys(codes).find((name) => codes[name][0] === descr);
  if (bytes[6] !== 1 || !type || !/'fortran_order': False/.test(header)) {
    throw new Error(`${file}: only version 1, little-endian, C order`);
  }
  const dims = /'shape': \(([^)]*)\)/.exec(header)[1].split(',').map((s) => s.trim()).filter(Boolean).map(Number);
  const copy = new Uint8Array(bytes.subarray(10 + size)).buffer;
  return {type, dims, data: new codes[type][1](copy)};
}

// A fixed generator: the same seed gives the same inputs everywhere.
function random(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
  return () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
}

function toHalf(value) {
  const bits = new Uint32Array(new Float32Array([value]).buffer)[0];
  const sign = (bits >>> 16) & 0x8000;
  const exponent = ((bits >>> 23) & 255) - 112;
  return exponent <= 0 ? sign : sign | (exponent << 10) | ((bits >>> 13) & 1023);
}

function seeded(type, dims, normal) {
  const data = new codes[type][1](dims.reduce((a, b) => a * b, 1));
  for (let i = 0; i < data.length; ++i) {
    const small = Math.min(1, Math.floor(Math.abs(normal())));
    data[i] = type === 'float16' ? toHalf(normal()) : type.startsWith('float') ? normal()
            : data instanceof BigInt64Array || data instanceof BigUint64Array ? BigInt(small) : small;
  }
  return {type, dims, data};
}

function parse(words) {
  const options = {files: {}, dims: {}, seed: 1, level: 'disabled', rest: []};
  for (let i = 0; i < words.length; ++i) {
    const pair = () => {
      const text = words[++i] ?? '';
      const at = text.lastIndexOf('=');
      return [text.slice(0, at), text.slice(at + 1)];
    };
    if (words[i] === '--input') {
      const [name, file] = pair();
      options.files[name] = file;
    } else if (words[i] === '--dim') {
      const [name, value] = pair();
      options.dims[name] = Number(value);
    } else if (words[i] === '--optimise') {
      options.level = 'all';
    } else if (words[i] === '--seed') {
      options.seed = Number(words[++i]);
    } else {
      options.rest.push(words[i]);
    }
  }
  return options;
}

async function main() {
  const options = parse(process.argv.slice(2));
  if (options.rest.length !== 2) {
    console.error(usage);
    return 2;
  }
  const [model, folder] = options.rest;
  const root = process.env.SYSTOLE_ORT ?? path.join(import.meta.dirname ?? '.', '../build/onnxruntime');
  const ort = createRequire(path.join(path.resolve(root), 'package.json'))('onnxruntime-node');
  const session = await ort.InferenceSession.create(model, {graphOptimizationLevel: options.level, logSeverityLevel: 3});
  fs.mkdirSync(folder, {recursive: true});
  const normal = random(options.seed);
  const feeds = {};
  session.inputMetadata.forEach((meta, i) => {
    let value;
    if (options.files[meta.name]) {
      value = readNpy(options.files[meta.name]);
    } else {
      const dims = meta.shape.map((extent, axis) => {
        if (typeof extent === 'number' && extent >= 0) {
          return extent;
        }
        const name = typeof extent === 'string' && extent ? extent : `${meta.name}:${axis}`;
        if (!(name in options.dims)) {
          throw new Error(`extent ${name} has no value; give --dim ${name}=VALUE`);
        }
        return options.dims[name];
      });
      value = seeded(meta.type, dims, normal);
      if (dims.length === 0 && meta.name in options.dims) {
        value.data[0] = meta.type.includes('64') ? BigInt(options.dims[meta.name]) : options.dims[meta.name];
      }
    }
    writeNpy(path.join(folder, `in_${i}.npy`), value.type, value.dims, value.data);
    feeds[meta.name] = new ort.Tensor(value.type, value.data, value.dims);
  });
  const results = await session.run(feeds);
  session.outputNames.forEach((name, i) => {
    writeNpy(path.join(folder, `out_${i}.npy`), results[name].type, results[name].dims, results[name].data);
  });
  fs.writeFileSync(path.join(folder, 'names.json'),
                   JSON.stringify({inputs: session.inputNames, outputs: session.outputNames}, null, 1) + '\n');
  return 0;
}

main().then((code) => process.exit(code), (error) => {
  console.error(`onnxruntime_compare: ${error.message.split('\n')[0]}`);
  process.exit(1);
});
