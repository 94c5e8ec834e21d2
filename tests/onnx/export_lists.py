"""The networks that export_networks.py exports: names of timm and torchvision, and configurations of
transformers made small."""

# Image networks of timm, each of a family of its own.
TIMM = """
resnet18 resnet50 resnext50_32x4d wide_resnet50_2 seresnet50 resnest14d res2net50_26w_4s skresnet18
densenet121 dla34 vgg11 inception_v3 inception_v4 xception41 mobilenetv2_100 mobilenetv3_small_100
mobilenetv4_conv_small efficientnet_b0 tf_efficientnet_b0 tf_efficientnetv2_b0 tf_mobilenetv3_small_100
tf_mixnet_s mnasnet_100 fbnetc_100 ghostnet_100 hardcorenas_a regnetx_002 regnety_002 rexnet_100
repvgg_a0 cspresnet50 cspdarknet53 darknet53 hrnet_w18_small selecsls42 nfnet_l0 dm_nfnet_f0
eca_nfnet_l0 convnext_atto convnextv2_atto convmixer_768_32 convit_tiny coat_lite_tiny coatnet_0_rw_224
maxvit_rmlp_pico_rw_256 crossvit_9_240 deit_tiny_patch16_224 vit_tiny_patch16_224 beit_base_patch16_224
cait_xxs24_224 xcit_nano_12_p8_224 swin_tiny_patch4_window7_224 swinv2_tiny_window8_256
swin_s3_tiny_224 twins_pcpvt_small twins_svt_small pit_ti_224 levit_128s visformer_tiny tnt_s_patch16_224
volo_d1_224 poolformer_s12 poolformerv2_s12 pvt_v2_b0 edgenext_xx_small mobilevit_xxs mobilevitv2_050
mobileone_s0 fastvit_t8 efficientformer_l1 efficientformerv2_s0 efficientvit_b0 efficientvit_m0 focalnet_tiny_srf
gcvit_xxtiny davit_tiny nest_tiny mixer_s32_224 resmlp_12_224 gmlp_s16_224 gernet_s lcnet_050
tinynet_e inception_next_tiny repghostnet_050 repvit_m0_9 vovnet39a ese_vovnet19b_dw mvitv2_tiny
sequencer2d_s tiny_vit_5m_224 eva02_tiny_patch14_224 hgnet_tiny starnet_s1
""".split()

# Networks of torchvision; segmentation networks are in a module of their own, video networks take clips.
TORCHVISION = """
alexnet squeezenet1_1 googlenet shufflenet_v2_x0_5 mnasnet0_5 regnet_y_400mf vit_b_32 swin_v2_t maxvit_t
efficientnet_v2_s convnext_tiny segmentation.deeplabv3_mobilenet_v3_large
segmentation.lraspp_mobilenet_v3_large segmentation.fcn_resnet50 video.r3d_18 video.mc3_18
""".split()

# Configurations of transformers, made small: class, changed fields, inputs.
TEXT = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 256,
        "vocab_size": 1000}
VISION = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 256}
TRANSFORMERS = {
    "bert": ("BertConfig", "BertModel", TEXT),
    "distilbert": ("DistilBertConfig", "DistilBertModel",
                   {"dim": 128, "n_layers": 2, "n_heads": 4, "hidden_dim": 256, "vocab_size": 1000}),
    "roberta": ("RobertaConfig", "RobertaModel", TEXT),
    "albert": ("AlbertConfig", "AlbertModel", {**TEXT, "embedding_size": 64}),
    "electra": ("ElectraConfig", "ElectraModel", {**TEXT, "embedding_size": 64}),
    "mpnet": ("MPNetConfig", "MPNetModel", TEXT),
    "xlnet": ("XLNetConfig", "XLNetModel",
              {"d_model": 128, "n_layer": 2, "n_head": 4, "d_inner": 256, "vocab_size": 1000}),
    "gpt2": ("GPT2Config", "GPT2Model", {"n_embd": 128, "n_layer": 2, "n_head": 4, "vocab_size": 1000}),
    "opt": ("OPTConfig", "OPTModel",
            {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 256,
             "vocab_size": 1000, "word_embed_proj_dim": 128}),
    "bloom": ("BloomConfig", "BloomModel", {"hidden_size": 128, "n_layer": 2, "n_head": 4, "vocab_size": 1000}),
    "gpt_neox": ("GPTNeoXConfig", "GPTNeoXModel", TEXT),
    "llama": ("LlamaConfig", "LlamaModel", {**TEXT, "num_key_value_heads": 2}),
    "qwen2": ("Qwen2Config", "Qwen2Model", {**TEXT, "num_key_value_heads": 2}),
    "t5_encoder": ("T5Config", "T5EncoderModel",
                   {"d_model": 128, "num_layers": 2, "num_heads": 4, "d_ff": 256, "d_kv": 32,
                    "vocab_size": 1000}),
    "deberta_v2": ("DebertaV2Config", "DebertaV2Model", TEXT),
    "vit": ("ViTConfig", "ViTModel", VISION),
    "dinov2": ("Dinov2Config", "Dinov2Model", {**VISION, "image_size": 224, "patch_size": 14}),
    "clip_vision": ("CLIPVisionConfig", "CLIPVisionModel", VISION),
    "segformer": ("SegformerConfig", "SegformerModel", {}),
    "wav2vec2": ("Wav2Vec2Config", "Wav2Vec2Model", TEXT),
    "whisper_encoder": ("WhisperConfig", "WhisperEncoder",
                        {"d_model": 128, "encoder_layers": 2, "encoder_attention_heads": 4,
                         "encoder_ffn_dim": 256, "vocab_size": 1000}),
}
# Inputs of the networks that read no text.
INPUTS = {
    "vit": ("pixel_values", (2, 3, 224, 224)),
    "dinov2": ("pixel_values", (2, 3, 224, 224)),
    "clip_vision": ("pixel_values", (2, 3, 224, 224)),
    "segformer": ("pixel_values", (2, 3, 224, 224)),
    "wav2vec2": ("input_values", (2, 16000)),
    "whisper_encoder": ("input_features", (2, 80, 3000)),
}
